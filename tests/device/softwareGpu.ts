/** Checks on the software GPU (softwareDriver.ts), in processes that see it. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll } from 'vitest'
import { softwareGpu } from './softwareDriver.ts'

/** One process for the checks of a test file, so that shaders are compiled once; a crash ends it, and the next check begins another. */
let checks: ChecksProcess | null = null

class ChecksProcess implements Disposable {
  readonly #process = spawn(process.execPath, [join(import.meta.dirname, 'checks.ts')], {
    env: { ...process.env, ...softwareGpu }, // the loader reads its path only at the start
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  readonly #lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]()

  async ask(question: readonly string[]): Promise<unknown> {
    this.#process.stdin.write(`${JSON.stringify(question)}\n`)
    for (;;) {
      const { done, value } = await this.#lines.next()
      if (done === true) throw new Error(`The process of the checks ended in ${question.join(' ')}.`)
      if (value.startsWith('{"answer":')) return (JSON.parse(value) as { answer: unknown }).answer
    }
  }

  [Symbol.dispose](): void {
    this.#process.stdin.end()
  }
}

/** What a check of checks.ts answers. */
export async function onSoftwareGpu<Answer>(check: string, ...args: readonly string[]): Promise<Answer> {
  checks ??= new ChecksProcess()
  try {
    return (await checks.ask([check, ...args])) as Answer
  } catch (error) {
    checks = null
    throw error
  }
}

afterAll(() => {
  checks?.[Symbol.dispose]()
  checks = null
})
