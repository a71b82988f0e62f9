// A driver: kafkajs, told by lines of JSON on its input what to do.
//
//     node driver.js 127.0.0.1:9092
//
// It speaks as the driver in Go does, whose main.go and client.go say what lines there are and what each means.
'use strict'

const readline = require('node:readline')
const { Kafka, logLevel } = require('kafkajs')
const codecs = require('./codecs')
const requests = require('./requests')
const { join } = require('./member')

const printLine = value => process.stdout.write(`${JSON.stringify(value)}\n`)

const main = async address => {
  await codecs.register()
  const kafka = new Kafka({
    clientId: 'kafkajs',
    brokers: [address],
    logLevel: logLevel.NOTHING,
  })
  // It would try again what the broker refuses for good, such as deleting a topic that is gone.
  const world = { kafka, admin: kafka.admin({ retry: { initialRetryTime: 50, retries: 3 } }), member: null }
  await world.admin.connect()

  const handlers = {
    ...requests,
    join: async request => {
      world.member = await join(kafka, request, printLine)
    },
    commit: request => world.member.commit(request),
    seek: request => world.member.seek(request),
    leave: () => world.member.leave(),
  }
  const handle = async request => {
    try {
      const answer = await handlers[request.do](request, world)
      printLine({ id: request.id, answer: answer ?? null })
    } catch (error) {
      printLine({ id: request.id, failed: { code: codeOf(error), message: String(error.stack) } })
    }
  }
  const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity })
  lines.on('line', line => handle(JSON.parse(line)))
  lines.on('close', () => process.exit(0))
}

// Errors wrap others: of retries, of several topics or groups at once.
const codeOf = error => {
  const inner = error.cause ?? error.errors?.[0] ?? error.groups?.[0]?.error
  return error.code > 0 ? error.code : inner ? codeOf(inner) : 0
}

main(process.argv[2])
