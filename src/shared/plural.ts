/** Returns `row` for 1, `rows` for any other number. */
export const noun = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many)

/** Formats 1 row, 2 rows. */
export const plural = (count: number, one: string, many?: string): string =>
  `${String(count)} ${noun(count, one, many)}`

const longest = 120

/** Makes foreign text fit for a sentence: at most 120 characters, nothing unprintable, no line breaks. */
export function shorten(text: string): string {
  const cut = text.length > longest ? `${text.slice(0, longest - 3)}…` : text
  return cut.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '�')
}

/** Makes a name for a file or folder: anything but letters, digits, dots and underscores becomes a dash; may be empty. */
export const slugOf = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/[^\w.-]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
