/** Makes findings of a self-test of what was measured. */
import type { SelftestFinding } from '#host/devices/deviceRecords.ts'

/** Words of an error, on one line. */
const wordsOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ')

export interface FindingWords {
  readonly good: string
  readonly bad: string
}

export function finding(name: string, error: number, limit: number, words: FindingWords): SelftestFinding {
  const passed = error <= limit // a NaN fails
  const measured = Number.isFinite(error) ? error : null
  return { name, passed, measured, limit, sentence: passed ? words.good : words.bad }
}

/** Yields the finding of one measurement. */
export async function* measuredFinding(
  name: string,
  measure: () => Promise<number>,
  limit: number,
  words: FindingWords,
): AsyncGenerator<SelftestFinding> {
  yield finding(name, await measure(), limit, words)
}

/** Yields findings; an error ends them with a failed one that has its sentence, so that other checks go on. */
export async function* orFailure(
  name: string,
  findings: AsyncGenerator<SelftestFinding>,
): AsyncGenerator<SelftestFinding> {
  try {
    yield* findings
  } catch (error) {
    yield { name, passed: false, measured: null, limit: 0, sentence: wordsOf(error), broke: true }
  }
}
