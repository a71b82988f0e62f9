// Records as lines have them, bytes in base64, and as @platformatic/kafka has them.
'use strict'

const fromText = text => (text === null ? undefined : Buffer.from(text, 'base64'))
const toText = bytes => (bytes === null || bytes === undefined ? null : bytes.toString('base64'))

exports.toMessage = (topic, record) => ({
  topic,
  partition: record.partition,
  key: fromText(record.key),
  value: fromText(record.value),
  timestamp: BigInt(record.timestamp),
  headers: new Map((record.headers ?? []).map(({ key, value }) => [Buffer.from(key), fromText(value)])),
})

exports.fromMessage = message => ({
  partition: message.partition,
  offset: Number(message.offset),
  timestamp: Number(message.timestamp),
  key: toText(message.key),
  value: toText(message.value),
  headers: [...message.headers].map(([key, value]) => ({ key: key.toString(), value: toText(value) })),
})
