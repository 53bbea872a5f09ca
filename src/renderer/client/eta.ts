/** How long something still takes, in words. */
import { rangeWords } from '#shared/remaining.ts'

/** A range in words, as exact as it is known: “2–3 min”. */
export const etaWords = ({ lowMs, highMs }: { readonly lowMs: number; readonly highMs: number }): string =>
  rangeWords({ low: lowMs / 1000, high: highMs / 1000 })
