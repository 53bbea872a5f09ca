/** The script of a process that answers one question and ends. Started by question.ts. */
import { keepPrivate } from '#host/files/permissions.ts'
import { answerQuestion } from './answering.ts'
import { openHostChannel, watchThisProcess } from './hostChannel.ts'
import { packError } from './messages.ts'
import type { FromQuestion, Question } from './question.ts'

keepPrivate()
watchThisProcess()
const host = openHostChannel<Question, FromQuestion>()

// A Ctrl-C reaches every process of the terminal; whoever asked says when it is enough.
process.on('SIGINT', () => {})
host.onLost(() => process.exit())
host.listen((question) => void serve(question))

async function serve(question: Question): Promise<void> {
  try {
    await answerQuestion(question, (item) => host.report({ type: 'item', item }))
    await host.report({ type: 'done' })
  } catch (error) {
    await host.report({ type: 'failed', error: packError(error) })
  }
  process.exit()
}
