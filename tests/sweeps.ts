/** How much of what is drawn at random, or repeated for many alike, the tests go through. */

/** Whether the long sweeps run: `npm run test:long` asks for them. */
export const isLong = process.env['TURNWISE_LONG'] === '1'

/** The number of cases: `short` in every run, `long` in the long one. */
export const casesOf = (short: number, long: number): number => (isLong ? long : short)
