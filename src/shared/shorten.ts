const longest = 120

/** Foreign text made fit for a sentence: at most 120 characters, nothing unprintable, no line breaks. */
export function shorten(text: string): string {
  const cut = text.length > longest ? `${text.slice(0, longest - 3)}…` : text
  return cut.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '�')
}
