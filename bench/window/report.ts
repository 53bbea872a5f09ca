/** How the measurements of the window are told. */

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN

export const report = (what: string, figure: string): void =>
  console.log(`${what.padEnd(64)} ${figure.padStart(12)}`)
