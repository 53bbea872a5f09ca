/** A run looks the same wherever it is drawn: eight hues, then the same hues dashed. */

export interface RunStyle {
  /** A CSS variable, so that the theme decides. */
  readonly color: string
  /** SVG dash pattern; undefined: solid. */
  readonly dash: string | undefined
}

const hues = 8
const dashes: readonly (string | undefined)[] = [undefined, '6 3', '2 3', '8 3 2 3']

/** `order`: place of the run among all runs of the history, the oldest first, so that it keeps its colour. */
export const runStyle = (order: number): RunStyle => ({
  color: `var(--run-${String((order % hues) + 1)})`,
  dash: dashes[Math.floor(order / hues) % dashes.length],
})
