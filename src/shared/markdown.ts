/** Foreign text in Markdown, such as a run's name: on one line, and nothing in it is markup, HTML or a link. */
import { shownText } from './shownText.ts'

/**
 * Escapes text that stands in a sentence, a heading or an entry of a list. Words with an address are shown as code: no escape keeps
 * GitHub from making a link of it.
 */
export const markdownText = (text: string): string =>
  shownText(text).replaceAll(special, (found, address?: string) =>
    address === undefined ? `\\${found}` : markdownCode(address),
  )

const special =
  /(?<![^ |])((?=[^ |]*(?::\/\/|www\.|[\w.+-]@[\w-]+\.))[^ |]+)|[\\`*<>&|~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|\](?=[[(:])|(?<=^\s*)[#+=-]|(?<=^\s*\d+)[.)]/giu

/** Shows a path or an id as code. */
export function markdownCode(text: string): string {
  const shown = shownText(text)
  const longest = Math.max(0, ...(shown.match(/`+/g) ?? []).map(({ length }) => length))
  const [fence, space] = ['`'.repeat(longest + 1), longest === 0 ? '' : ' ']
  return fence + space + shown + space + fence
}
