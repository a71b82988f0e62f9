// @platformatic/kafka: what it is asked for, by name.
'use strict'

const { codeOf } = require('./platformatic_errors')
const { join } = require('./platformatic_member')
const requests = require('./platformatic_requests')

exports.connect = async (address, tell) => {
  // It is a module of the newer kind.
  const library = await import('@platformatic/kafka')
  // Topics are not created by asking for them, and what the broker refuses is not asked again.
  const options = {
    clientId: 'platformatic',
    bootstrapBrokers: [address],
    autocreateTopics: false,
    retries: 0,
    metadataMaxAge: 0,
  }
  // The first to look for a coordinator comes before there is one.
  const patient = { ...options, retries: 50, retryDelay: 200 }
  const world = { library, options, patient, admin: new library.Admin(options) }
  return { ...requests, join: request => join(world, request, tell), world }
}

exports.codeOf = codeOf
