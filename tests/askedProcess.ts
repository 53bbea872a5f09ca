/** Processes of tests that are asked several things: each question is a line of JSON, and so is its answer. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export type Question = readonly string[]

/** Ends when it is disposed of, once its last question is answered. */
export class AskedProcess implements Disposable {
  readonly #process
  readonly #lines

  /** `script`: one that calls `answerQuestions`. */
  constructor(script: string, env: Readonly<Record<string, string>> = {}) {
    this.#process = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]()
  }

  async ask(question: Question): Promise<unknown> {
    this.#process.stdin.write(`${JSON.stringify(question)}\n`)
    for (;;) {
      const { done, value } = await this.#lines.next()
      if (done === true) throw new Error(`The process that was asked ended in ${question.join(' ')}.`)
      if (value.startsWith('{"answer":')) return (JSON.parse(value) as { answer: unknown }).answer
    }
  }

  [Symbol.dispose](): void {
    this.#process.stdin.end()
  }
}

/** Answers what this process is asked, one after the other, until nobody can ask any more. */
export async function answerQuestions(answer: (question: Question) => Promise<unknown>): Promise<void> {
  for await (const line of createInterface({ input: process.stdin }))
    console.log(`\n${JSON.stringify({ answer: await answer(JSON.parse(line) as Question) })}`)
}
