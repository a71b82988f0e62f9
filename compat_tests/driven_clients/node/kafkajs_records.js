// Records as lines have them, bytes in base64, and as kafkajs has them.
'use strict'

const fromText = text => (text === null ? null : Buffer.from(text, 'base64'))
const toText = bytes => (bytes === null || bytes === undefined ? null : bytes.toString('base64'))

exports.toMessage = record => ({
  partition: record.partition,
  key: fromText(record.key),
  value: fromText(record.value),
  timestamp: String(record.timestamp),
  headers: Object.fromEntries((record.headers ?? []).map(({ key, value }) => [key, fromText(value)])),
})

exports.fromMessage = (partition, message) => ({
  partition,
  offset: Number(message.offset),
  timestamp: Number(message.timestamp),
  key: toText(message.key),
  value: toText(message.value),
  headers: Object.entries(message.headers ?? {}).map(([key, value]) => ({ key, value: toText(value) })),
})
