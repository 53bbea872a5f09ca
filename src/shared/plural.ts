/** `row` for one of them, `rows` for any other number. */
export const noun = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many)

/** 1 row, 2 rows. */
export const plural = (count: number, one: string, many?: string): string =>
  `${String(count)} ${noun(count, one, many)}`
