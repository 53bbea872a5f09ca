/**
 * A name or a path as text that hides nothing: characters that move the cursor, reverse the direction, or cannot be seen are written
 * as their code.
 */
export const shownText = (text: string): string =>
  text.replaceAll(
    /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
