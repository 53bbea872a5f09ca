import { openSandbox, type Sandbox, type SandboxLimits } from '#host/sandbox/sandbox.ts'
import type { ScoreAnswer } from '#host/sandbox/answers.ts'
import '../../keptSandboxes.ts'

export const sample = { prompt: 'Say 4.', completion: '4', row: { answer: '4' }, step: 1 }

/** Fails fast: tests wait for these limits. */
export const shortLimits: Partial<SandboxLimits> = { callMs: 500, batchMs: 5_000, memoryMb: 16 }

export const openJs = (code: string, limits: Partial<SandboxLimits> = shortLimits): Promise<Sandbox> =>
  openSandbox({ code, language: 'js' }, limits)

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
