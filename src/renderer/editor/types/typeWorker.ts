/** The type checker as a worker of its own: typing never waits for it. */
import { libraries } from './libraries.ts'
import type { FromChecker, ToChecker } from './protocol.ts'
import { createTypeService } from './typeService.ts'

const service = createTypeService(libraries)

/** The one global this file needs; the window's own types have another. */
declare const self: {
  onmessage: ((event: { readonly data: ToChecker }) => void) | null
  postMessage(message: FromChecker): void
}

self.onmessage = ({ data }) => {
  if (data.kind === 'columns') service.setColumns(data.columns)
  else self.postMessage(answerTo(data))
}

function answerTo(message: Extract<ToChecker, { kind: 'ask' }>): FromChecker {
  const { id } = message
  try {
    return { kind: 'answer', id, answer: ask(message) }
  } catch (error) {
    return { kind: 'failed', id, message: error instanceof Error ? error.message : String(error) }
  }
}

function ask(message: Extract<ToChecker, { kind: 'ask' }>): unknown {
  switch (message.question) {
    case 'problems':
      return service.problems(message.input)
    case 'complete':
      return service.complete(message.input)
    case 'describe':
      return service.describe(message.input)
    case 'explain':
      return service.explain(message.input)
    case 'signature':
      return service.signature(message.input)
  }
}
