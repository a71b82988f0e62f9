// What can be asked of kafkajs outside of a group.
'use strict'

const { ConfigResourceTypes, ConfigSource } = require('kafkajs')
const { randomUUID } = require('node:crypto')
const codecs = require('./kafkajs_codecs')
const { fromMessage, toMessage } = require('./kafkajs_records')

const LATEST = -1
const EARLIEST = -2
const TOPIC_ALREADY_EXISTS = 36

exports.produce = async ({ topic, codec, records }, { kafka }) => {
  const producer = kafka.producer({ allowAutoTopicCreation: false })
  await producer.connect()
  try {
    const messages = records.map(toMessage)
    const written = await producer.send({ topic, messages, acks: -1, compression: codecs.TYPES[codec] })
    const next = new Map(written.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]))
    return records.map(({ partition }) => {
      const offset = next.get(partition)
      next.set(partition, offset + 1)
      return offset
    })
  } finally {
    await producer.disconnect()
  }
}

// kafkajs reads in groups only; this one is nobody else's.
exports.read = async ({ topic, partition, offset, count }, { kafka }) => {
  const consumer = kafka.consumer({ groupId: `read-${randomUUID()}`, maxWaitTimeInMs: 500 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const read = []
  try {
    await new Promise((resolve, reject) => {
      const eachMessage = async ({ partition: of, message }) => {
        if (of === partition && read.length < count) read.push(fromMessage(of, message))
        if (read.length === count) resolve()
      }
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      consumer.run({ autoCommit: false, eachMessage }).catch(reject)
      consumer.seek({ topic, partition, offset: String(offset) })
    })
  } finally {
    await consumer.disconnect()
  }
  return read
}

exports.create_topic = async ({ topic, partitions, configs }, { admin }) => {
  const configEntries = Object.entries(configs ?? {}).map(([name, value]) => ({ name, value }))
  const isNew = await admin.createTopics({
    topics: [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }],
    waitForLeaders: false,
  })
  // The one refusal that kafkajs tells by its answer.
  if (!isNew) throw Object.assign(new Error(`${topic} exists`), { code: TOPIC_ALREADY_EXISTS })
}

exports.delete_topic = async ({ topic }, { admin }) => {
  await admin.deleteTopics({ topics: [topic] })
}

exports.describe_topic = async ({ topic }, { admin }) => {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic }
  const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false })
  const set = resources[0].configEntries.filter(entry => entry.configSource === ConfigSource.TOPIC_CONFIG)
  return {
    partitions: topics[0].partitions.length,
    configs: Object.fromEntries(set.map(({ configName, configValue }) => [configName, configValue])),
  }
}

exports.offset_at = async ({ topic, partition, timestamp }, { admin }) => {
  if (timestamp === LATEST || timestamp === EARLIEST) {
    const ends = (await admin.fetchTopicOffsets(topic)).find(one => one.partition === partition)
    return Number(timestamp === LATEST ? ends.high : ends.low)
  }
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp)
  return Number(found.find(one => one.partition === partition).offset)
}

exports.progress = async ({ group, topic }, { admin }) => {
  const ends = new Map((await admin.fetchTopicOffsets(topic)).map(one => [one.partition, Number(one.high)]))
  const [{ partitions }] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
  return partitions.map(({ partition, offset }) => ({
    partition,
    committed: Number(offset),
    end: ends.get(partition),
  }))
}

exports.describe_group = async ({ group }, { admin }) => {
  const { groups } = await admin.describeGroups([group])
  return { state: groups[0].state, members: groups[0].members.length }
}

exports.delete_group = async ({ group }, { admin }) => {
  await admin.deleteGroups([group])
}

exports.list_groups = async (_, { admin }) => {
  const { groups } = await admin.listGroups()
  return Object.fromEntries(groups.map(({ groupId }) => [groupId, {}]))
}

exports.set_committed = async ({ group, topic, partition, offset }, { admin }) => {
  await admin.setOffsets({ groupId: group, topic, partitions: [{ partition, offset: String(offset) }] })
}
