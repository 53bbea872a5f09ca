/**
 * Escapes a name or a path so that it hides nothing: characters that move the cursor, reverse the direction, or cannot
 * be seen are written as their code, and so are the sign for bytes that are no text, and spaces after twenty others.
 */
export const shownText = (text: string): string => text.replaceAll(unseen, code)

const code = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffd]|(?! )\p{Zs}|(?<= {20}) /gu

/** Quotes a word for the command line of a shell of Unix, whatever is in it. */
const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/**
 * A word of a command that a person copies into a terminal: one word whatever is in it, and nothing of it is unseen. `printf` writes
 * what is, in every shell of Unix; of the line ends that a shell would take away, each is seen as one. `onWindows`: for its shells,
 * which is where a path of Windows leads in any case.
 */
export function commandWord(
  word: string,
  onWindows = isWindows || /^(?:[A-Za-z]:[\\/]|\\\\)/.test(word),
): string {
  if (onWindows) return windowsWord(word)
  if (shownText(word) === word) return shellWord(word)
  const body = word.replace(/\n+$/, '')
  const codes = body.replace(/^-|[\\%'"`$!]/g, octal).replaceAll(unseen, octal)
  const ends = word.slice(body.length)
  return `"$(printf '${codes}')"${ends && `'${ends}'`}`
}

const octal = (character: string): string =>
  [...new TextEncoder().encode(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')

/** A page in a browser does not know the system. */
const isWindows = (globalThis as { process?: { readonly platform?: string } }).process?.platform === 'win32'

/**
 * Between double quotes neither cmd.exe nor PowerShell runs anything but what begins with these characters, or ends the word by one;
 * neither has an escape that the other takes. Their codes stand in their place: nothing has such a name, but one sees what it is.
 */
function windowsWord(word: string): string {
  if (/^\w[\w+./:-]*$/.test(word)) return word
  return `"${shownText(word).replaceAll(/[%!$`"\u201c-\u201e]|\\$/g, code)}"`
}
