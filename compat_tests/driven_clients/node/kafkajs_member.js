// A member of a group: it consumes what it is assigned, commits only when told, and tells what it learns.
'use strict'

const { fromMessage } = require('./kafkajs_records')

// Often, so that members notice a rebalance soon.
const HEARTBEAT_MS = 200

exports.join = async (kafka, { group, topic, session_timeout_ms: sessionTimeout }, tell) => {
  const consumer = kafka.consumer({
    groupId: group,
    sessionTimeout,
    heartbeatInterval: HEARTBEAT_MS,
    maxWaitTimeInMs: HEARTBEAT_MS,
  })
  let owned = []
  const own = partitions => {
    if (owned.length) tell({ event: 'revoked', partitions: owned })
    owned = partitions
    if (owned.length) tell({ event: 'assigned', partitions: owned })
  }
  // A member that was thrown out is told so by an error, after which kafkajs joins anew.
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => own(payload.memberAssignment[topic] ?? []))
  consumer.on(consumer.events.REBALANCING, () => own([]))
  consumer.on(consumer.events.CRASH, ({ payload }) => tell({ event: 'trouble', message: String(payload.error) }))
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const eachMessage = async ({ partition, message }) =>
    tell({ event: 'record', record: fromMessage(partition, message) })
  await consumer.run({ autoCommit: false, eachMessage })
  return {
    commit: ({ partition, offset }) => consumer.commitOffsets([{ topic, partition, offset: String(offset) }]),
    seek: async ({ partition, offset }) => consumer.seek({ topic, partition, offset: String(offset) }),
    leave: async () => {
      await consumer.disconnect()
      own([])
    },
  }
}
