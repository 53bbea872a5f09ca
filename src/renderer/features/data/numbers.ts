/** Of what was typed into a number's field: whether it is a whole number within limits. */
export const isWhole = (value: number | null, min: number, max: number): value is number =>
  value !== null && Number.isInteger(value) && value >= min && value <= max
