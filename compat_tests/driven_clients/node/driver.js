// A driver: one client, told by lines of JSON on its input what to do.
//
//     node driver.js kafkajs 127.0.0.1:9092
//
// It speaks as the driver in Go does, whose main.go and client.go say what lines there are and what each means.
'use strict'

const readline = require('node:readline')

// Only the one that is asked for is loaded.
const CLIENTS = {
  kafkajs: () => require('./kafkajs'),
  '@platformatic/kafka': () => require('./platformatic'),
}

const printLine = value => process.stdout.write(`${JSON.stringify(value)}\n`)

const main = async (name, address) => {
  const { connect, codeOf } = CLIENTS[name]()
  const { world, ...requests } = await connect(address, printLine)
  let member = null
  const handlers = {
    ...requests,
    join: async request => {
      member = await requests.join(request)
    },
    commit: request => member.commit(request),
    seek: request => member.seek(request),
    leave: () => member.leave(),
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

main(...process.argv.slice(2))
