// kafkajs: what it is asked for, by name.
'use strict'

const { Kafka, logLevel } = require('kafkajs')
const codecs = require('./kafkajs_codecs')
const { join } = require('./kafkajs_member')
const requests = require('./kafkajs_requests')

exports.connect = async (address, tell) => {
  await codecs.register()
  const kafka = new Kafka({
    clientId: 'kafkajs',
    brokers: [address],
    logLevel: logLevel.NOTHING,
  })
  // It would try again what the broker refuses for good, such as deleting a topic that is gone.
  const world = { kafka, admin: kafka.admin({ retry: { initialRetryTime: 50, retries: 3 } }) }
  await world.admin.connect()
  return { ...requests, join: request => join(kafka, request, tell), world }
}

// Errors wrap others: of retries, of several topics or groups at once.
exports.codeOf = error => {
  const inner = error.cause ?? error.errors?.[0] ?? error.groups?.[0]?.error
  return error.code > 0 ? error.code : inner ? exports.codeOf(inner) : 0
}
