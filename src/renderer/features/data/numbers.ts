/** Validates number fields: whole numbers within limits. */
export const isWhole = (value: number | null, min: number, max: number): value is number =>
  value !== null && Number.isInteger(value) && value >= min && value <= max
