/** A conversation in the terminal, line by line. */
import { createInterface, type Interface } from 'node:readline'
import { AppError } from '#shared/errors.ts'
import type { Question } from '#host/models/completing.ts'
import type { OpenedModel } from '#host/models/openModel.ts'
import { real, whole, type Context, type OptionsOf } from '../command.ts'
import type { Output } from '../output.ts'
import { adapter, modelCommand, openRequest } from './inference.ts'

export const chat = (context: Context) =>
  modelCommand('chat')
    .description(
      'Talk to a model\n\nEvery line is a message. /again answers the last one again, /clear forgets what was said, /quit ends; Ctrl-C stops an answer.',
    )
    .option(...adapter)
    .option('--system <TEXT>', 'system message, before the first turn')
    .option('--temperature <T>', '0 always takes the most probable token', real(0), 0.7)
    .option(
      '--top-p <P>',
      'only the most likely tokens up to this total probability; 1 is off',
      real(1e-6, 1),
      1,
    )
    .option('--max-new-tokens, --max-tokens <N>', 'longest answer', whole(1), 256)
    .option('--seed <S>', 'seed of the first answer; each answer takes the next', whole(0), 42)
    .action(async (options) => {
      const { dataDirectory, output } = context()
      const { openModel } = await import('#host/models/openModel.ts')
      using model = await openModel(openRequest(options, dataDirectory))
      await talk(model, options, output)
    })

type ChatMessage = Extract<Question, { readonly messages: unknown }>['messages'][number]
type ChatOptions = OptionsOf<typeof chat>

/** Reads lines and answers them until the input ends. */
async function talk(model: OpenedModel, options: ChatOptions, output: Output): Promise<void> {
  const isTerminal = process.stdin.isTTY
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: isTerminal })
  using interrupt = watchInterrupt(lines)
  const conversation = new Conversation(model, options, output)
  const ask = () => isTerminal && lines.prompt()
  ask()
  for await (const line of lines) {
    if (line.trim() === '/quit') break
    await interrupt.during((signal) => conversation.take(line.trim(), signal))
    ask()
  }
}

class Conversation {
  readonly #model: OpenedModel
  readonly #options: ChatOptions
  readonly #output: Output
  #messages: ChatMessage[]
  #answers = 0

  constructor(model: OpenedModel, options: ChatOptions, output: Output) {
    this.#model = model
    this.#options = options
    this.#output = output
    this.#messages = this.#beginning()
  }

  async take(line: string, signal: AbortSignal): Promise<void> {
    if (line === '') return
    if (line === '/clear') {
      this.#messages = this.#beginning()
      return
    }
    const isAgain = line === '/again'
    const asked = isAgain ? this.#withoutAnswer() : [...this.#messages, { role: 'user', content: line }]
    if (asked.at(-1)?.role !== 'user') {
      this.#output.note('There is nothing to answer again.')
      return
    }
    try {
      const content = await this.#answer(asked, signal)
      this.#messages = [...asked, { role: 'assistant', content }]
    } catch (error) {
      // For example a message that leaves no room: earlier messages stay.
      if (!(error instanceof AppError)) throw error
      this.#output.note([error.message, error.hint].filter(Boolean).join(' '))
    }
  }

  /** Returns the answer, or its beginning if it was stopped. */
  async #answer(messages: readonly ChatMessage[], signal: AbortSignal): Promise<string> {
    const { complete, openText } = await import('#host/models/completing.ts')
    const { greedyAtZero } = await import('#host/jobs/candidates.ts')
    const { temperature, topP, maxTokens: maxNewTokens, seed: first } = this.#options
    const filters = { topP, topK: 0, minP: 0, repetitionPenalty: 1, minNewTokens: 0, stopStrings: [] }
    let text = ''
    const write = this.#output.stream()
    const onText = (_sample: number, piece: string) => {
      text += piece
      write(piece)
    }
    const seed = first + this.#answers++
    const sampling = { ...filters, ...greedyAtZero(temperature), maxNewTokens }
    const asked = { question: { messages }, samples: 1, seed, sampling, onText, signal }
    let stopReason = 'stopped'
    for await (const completion of complete(this.#model, openText(this.#model.folder), asked))
      stopReason = completion.stopReason
    this.#output.line('')
    this.#output.json({ text, seed, stopReason })
    return text
  }

  #beginning(): ChatMessage[] {
    const { system } = this.#options
    return system === undefined ? [] : [{ role: 'system', content: system }]
  }

  #withoutAnswer(): ChatMessage[] {
    return this.#messages.at(-1)?.role === 'assistant' ? this.#messages.slice(0, -1) : this.#messages
  }
}

interface Interrupt extends Disposable {
  /** Runs work with a signal that Ctrl-C aborts. */
  readonly during: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>
}

/** Stops the answer being written on Ctrl-C, or ends the conversation if there is none. Disposing ends the reading too. */
function watchInterrupt(lines: Interface): Interrupt {
  let answering: AbortController | null = null
  const listener = () => {
    if (answering === null) lines.close()
    else answering.abort()
  }
  lines.on('SIGINT', listener)
  process.on('SIGINT', listener)
  return {
    async during(work) {
      const controller = new AbortController()
      answering = controller
      await work(controller.signal)
      answering = null
    },
    [Symbol.dispose]() {
      process.off('SIGINT', listener)
      lines.close()
    },
  }
}
