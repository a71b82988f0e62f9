// A member of a group: it consumes what it is assigned, commits only when told, and tells what it learns.
'use strict'

const { codeOf } = require('./platformatic_errors')
const { fromMessage } = require('./platformatic_records')

// Often, so that members notice a rebalance soon.
const HEARTBEAT_MS = 200

exports.join = async ({ library, patient }, request, tell) => {
  const { group, topic } = request
  const consumer = new library.Consumer({ ...patient, ...groupOptions(request), groupId: group })
  let owned = []
  const own = partitions => {
    const lost = owned.filter(one => !partitions.includes(one))
    const won = partitions.filter(one => !owned.includes(one))
    owned = partitions
    if (lost.length) tell({ event: 'revoked', partitions: lost })
    if (won.length) tell({ event: 'assigned', partitions: won })
  }
  const learn = () => own((consumer.assignments ?? []).find(one => one.topic === topic)?.partitions ?? [])
  const trouble = error => tell({ event: 'trouble', message: String(error), code: codeOf(error) })
  consumer.on('consumer:group:join', learn)
  consumer.on('consumer:heartbeat:end', learn)
  consumer.on('consumer:group:rebalance', () => own([]))
  consumer.on('consumer:heartbeat:error', ({ error }) => trouble(error))
  consumer.on('error', trouble)
  const consume = async where => {
    const stream = await consumer.consume({ topics: [topic], autocommit: false, maxWaitTime: HEARTBEAT_MS, ...where })
    stream.on('data', message => tell({ event: 'record', record: fromMessage(message) }))
    stream.on('error', trouble)
    return stream
  }
  let stream = await consume({ mode: 'committed', fallbackMode: 'earliest' })
  return {
    commit: ({ partition, offset }) =>
      consumer.commit({ offsets: [{ topic, partition, offset: BigInt(offset), leaderEpoch: -1 }] }),
    // It takes new positions when a stream begins.
    seek: async ({ partition, offset }) => {
      await stream.close()
      stream = await consume({ mode: 'manual', offsets: [{ topic, partition, offset: BigInt(offset) }] })
    },
    leave: async () => {
      await consumer.close(true)
      own([])
    },
  }
}

// In the new protocol the broker says how long sessions are and how often members tell that they live.
const groupOptions = ({ protocol, instance_id: instanceId, session_timeout_ms: sessionTimeout }) => ({
  ...(instanceId && { groupInstanceId: instanceId }),
  ...(protocol === 'consumer'
    ? { groupProtocol: 'consumer' }
    : { sessionTimeout, rebalanceTimeout: 60_000, heartbeatInterval: HEARTBEAT_MS }),
})
