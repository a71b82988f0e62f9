// What the broker said, in what @platformatic/kafka throws.
'use strict'

// Errors wrap others, and the innermost carries the broker's number.
exports.codeOf = error => {
  if (error.apiCode > 0) return error.apiCode
  for (const inner of [error.cause, ...(error.errors ?? [])]) {
    const code = inner ? exports.codeOf(inner) : 0
    if (code) return code
  }
  return 0
}
