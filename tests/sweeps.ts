/** How much of what is drawn at random, or repeated for many alike, the tests go through. */

/** Whether the long sweeps run: `npm run test:long` asks for them. */
export const isLong = process.env['TURNWISE_LONG'] === '1'

/** A test that takes minutes and is skipped by its name in a short run, with `test.runIf(isLong)`. */
export const longTitle = (title: string): string => (isLong ? title : `${title} (in the long run only)`)

/** The number of cases: `short` in every run, `long` in the long one. */
export const casesOf = (short: number, long: number): number => (isLong ? long : short)
