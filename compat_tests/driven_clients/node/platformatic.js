// @platformatic/kafka: what it is asked for, by name.
'use strict'

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
  const world = { library, options, admin: new library.Admin(options) }
  return { ...requests, join: request => join(world, request, tell), world }
}

// Errors wrap others, and the innermost carries the broker's number.
const codeOf = error => {
  if (error.apiCode > 0) return error.apiCode
  for (const inner of [error.cause, ...(error.errors ?? [])]) {
    const code = inner ? codeOf(inner) : 0
    if (code) return code
  }
  return 0
}
exports.codeOf = codeOf
