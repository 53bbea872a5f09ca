import { afterAll } from 'vitest'
import { Overrun } from '#host/processes/workLimit.ts'
import { openSandbox, type Sandbox, type SandboxLimits, type StartLink } from '#host/sandbox/sandbox.ts'
import { SandboxLink } from '#host/sandbox/sandboxLink.ts'
import type { ScoreAnswer } from '#host/sandbox/answers.ts'

export const sample = { prompt: 'Say 4.', completion: '4', row: { answer: '4' }, step: 1 }

/** Fails fast: tests wait for these limits. */
export const shortLimits: Partial<SandboxLimits> = { callMs: 500, batchMs: 5_000, memoryMb: 16 }

const spare: SandboxLink[] = []
afterAll(() => spare.splice(0).forEach((link) => link[Symbol.dispose]()))

/** A process of an earlier sandbox of the test file that nothing happened to: starting one takes longer than most tests. */
export const startShared: StartLink = async () => {
  const link = spare.pop() ?? (await SandboxLink.start())
  let isUnharmed = true
  return {
    send: (message) => link.send(message),
    async next(limit) {
      const news = await link.next(limit)
      isUnharmed = !(news instanceof Overrun) && news.type !== 'gone'
      return news
    },
    [Symbol.dispose]() {
      if (isUnharmed) spare.push(link)
      else link[Symbol.dispose]()
    },
  }
}

export const openJs = (code: string, limits: Partial<SandboxLimits> = shortLimits): Promise<Sandbox> =>
  openSandbox({ code, language: 'js' }, limits, startShared)

/** A sandbox with one function per body, called by its position; `s` is the sample, `top` stands before them. */
export function openBodies(bodies: readonly string[], limits = shortLimits, top = ''): Promise<Sandbox> {
  const functions = bodies.map((body, i) => `export function body${i}(s) { ${body} }`)
  return openJs([top, ...functions].join('\n'), limits)
}

/** The answer to one sample of a function with this body. */
export async function answerOf(body: string): Promise<ScoreAnswer> {
  await using sandbox = await openBodies([body])
  return only(await sandbox.score([sample], 'body0'))
}

export function only<T>(items: readonly T[]): T {
  const [item] = items
  if (item === undefined || items.length !== 1) throw new Error(`Expected one item, got ${items.length}.`)
  return item
}

export const kindOf = (answer: ScoreAnswer | undefined): string =>
  answer === undefined
    ? 'missing'
    : 'failure' in answer
      ? answer.failure.kind
      : `value ${String(answer.value)}`
