// What can be asked of @platformatic/kafka outside of a group.
'use strict'

const { randomUUID } = require('node:crypto')
const { fromMessage, toMessage } = require('./platformatic_records')

exports.produce = async ({ topic, codec, records }, { library, options }) => {
  const producer = new library.Producer(options)
  try {
    const messages = records.map(record => toMessage(topic, record))
    const { offsets } = await producer.send({ messages, acks: library.ProduceAcks.ALL, compression: codec })
    const next = new Map(offsets.map(({ partition, offset }) => [partition, Number(offset)]))
    return records.map(({ partition }) => {
      const offset = next.get(partition)
      next.set(partition, offset + 1)
      return offset
    })
  } finally {
    await producer.close()
  }
}

// It reads in groups only; this one is nobody else's.
exports.read = async ({ topic, partition, offset, count }, { library, patient, admin }) => {
  const partitions = await partitionsOf(admin, topic)
  const offsets = partitions.map(one => ({ topic, partition: one, offset: one === partition ? BigInt(offset) : 0n }))
  const consumer = new library.Consumer({ ...patient, groupId: `read-${randomUUID()}` })
  const read = []
  try {
    const mode = library.MessagesStreamModes.MANUAL
    const stream = await consumer.consume({ topics: [topic], mode, offsets, autocommit: false, maxWaitTime: 500 })
    for await (const message of stream) {
      if (message.partition === partition) read.push(fromMessage(message))
      if (read.length === count) break
    }
  } finally {
    await consumer.close(true)
  }
  return read
}

const partitionsOf = async (admin, topic) => {
  const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true })
  return topics.get(topic).partitions.map((_, partition) => partition)
}

exports.create_topic = async ({ topic, partitions, configs }, { admin }) => {
  const wanted = Object.entries(configs ?? {}).map(([name, value]) => ({ name, value }))
  await admin.createTopics({ topics: [topic], partitions, replicas: 1, configs: wanted })
}

exports.delete_topic = async ({ topic }, { admin }) => {
  await admin.deleteTopics({ topics: [topic] })
}

exports.describe_topic = async ({ topic }, { library, admin }) => {
  const partitions = await partitionsOf(admin, topic)
  const resources = [{ resourceType: library.ConfigResourceTypes.TOPIC, resourceName: topic }]
  const [{ configs }] = await admin.describeConfigs({ resources })
  const set = configs.filter(config => config.configSource === library.ConfigSources.TOPIC_CONFIG)
  return { partitions: partitions.length, configs: Object.fromEntries(set.map(({ name, value }) => [name, value])) }
}

exports.offset_at = async ({ topic, partition, timestamp }, { admin }) => {
  const partitions = [{ partitionIndex: partition, timestamp: BigInt(timestamp) }]
  const [found] = await admin.listOffsets({ topics: [{ name: topic, partitions }] })
  return Number(found.partitions[0].offset)
}

const LATEST = -1n

exports.progress = async ({ group, topic }, { admin }) => {
  const indexes = await partitionsOf(admin, topic)
  const asked = indexes.map(partitionIndex => ({ partitionIndex, timestamp: LATEST }))
  const [{ partitions: ends }] = await admin.listOffsets({ topics: [{ name: topic, partitions: asked }] })
  const [{ topics }] = await admin.listConsumerGroupOffsets({
    groups: [{ groupId: group, topics: [{ name: topic, partitionIndexes: indexes }] }],
  })
  return topics[0].partitions.map(({ partitionIndex, committedOffset }) => ({
    partition: partitionIndex,
    committed: Number(committedOffset),
    end: Number(ends.find(one => one.partitionIndex === partitionIndex).offset),
  }))
}

// It tells states by names of its own, and knows no group of the new protocol but in lists.
const stateOf = state => state[0] + state.slice(1).toLowerCase()

exports.describe_group = async ({ group }, { admin }) => {
  const { state, members } = (await admin.describeGroups({ groups: [group] })).get(group)
  return { state: stateOf(state), members: members.size }
}

exports.list_groups = async (_, { admin }) => {
  const groups = await admin.listGroups({ types: ['classic', 'consumer'] })
  return Object.fromEntries([...groups].map(([id, { state, groupType }]) => [id, { state: stateOf(state), type: groupType }]))
}

exports.delete_group = async ({ group }, { admin }) => {
  await admin.deleteGroups({ groups: [group] })
}

exports.set_committed = async ({ group, topic, partition, offset }, { admin }) => {
  const partitionOffsets = [{ partition, offset: BigInt(offset) }]
  await admin.alterConsumerGroupOffsets({ groupId: group, topics: [{ name: topic, partitionOffsets }] })
}

exports.delete_committed = async ({ group, topic, partition }, { admin }) => {
  await admin.deleteConsumerGroupOffsets({ groupId: group, topics: [{ name: topic, partitionIndexes: [partition] }] })
}
