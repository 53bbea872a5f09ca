/**
 * Escapes a name or a path so that it hides nothing: characters that move the cursor, reverse the direction, or cannot
 * be seen are written as their code, and so are spaces after twenty others.
 */
export const shownText = (text: string): string =>
  text.replaceAll(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)

const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<= {20}) /gu

/** Quotes a word for the command line of a shell, whatever is in it. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/**
 * A word of a command that a person copies into a terminal: one word whatever is in it, and nothing of it is unseen. `printf` writes
 * what is, in every shell of Unix; of the line ends that a shell would take away, each is seen as one.
 */
export function commandWord(word: string): string {
  if (shownText(word) === word) return isWindowsPath(word) ? `"${word}"` : shellWord(word)
  const body = word.replace(/\n+$/, '')
  const codes = body.replace(/^-|[\\%'"`$!]/g, octal).replaceAll(unseen, octal)
  const ends = word.slice(body.length)
  return `"$(printf '${codes}')"${ends && `'${ends}'`}`
}

const octal = (character: string): string =>
  [...new TextEncoder().encode(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')

/** The shells of Windows take no single quotes; no shell finds more than a path in this one. */
const isWindowsPath = (word: string): boolean => /^[A-Za-z]:\\[^"$`%!]*[^"$`%!\\]$/.test(word)
