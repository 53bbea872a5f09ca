/** The script of a process that answers questions about texts, one after the other. Started by textQuestion.ts. */
import { openHostChannel, watchThisProcess } from './hostChannel.ts'
import { packError } from './messages.ts'
import { answerAboutText } from './textAnswering.ts'
import { maxTextBytes, type FromText, type TextQuestion } from './textQuestion.ts'

watchThisProcess({ maxBytes: maxTextBytes })
const host = openHostChannel<TextQuestion, FromText>()

// A Ctrl-C reaches every process of the terminal; whoever asked says when it is enough.
process.on('SIGINT', () => {})
host.onLost(() => process.exit())
host.listen((question) => void host.report(answerTo(question)))
void host.report({ type: 'ready' })

function answerTo(question: TextQuestion): FromText {
  try {
    return { type: 'answer', answer: answerAboutText(question) }
  } catch (error) {
    return { type: 'refused', error: packError(error) }
  }
}
