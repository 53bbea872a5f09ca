/**
 * GPT-2's spelling of bytes as characters: a printable Latin-1 byte is its own character; the others are the characters
 * from U+0100 on, in order.
 */
const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae

/** Byte → character. */
const characterOfByte: readonly string[] = (() => {
  let next = 0x100
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++))
})()

/** Character → byte. */
export const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  characterOfByte.map((character, byte) => [character, byte]),
)

const encoder = new TextEncoder()

/** A text's UTF-8 bytes, spelled in characters. */
export function spellBytes(text: string): string {
  let spelled = ''
  for (const byte of encoder.encode(text)) spelled += characterOfByte[byte]!
  return spelled
}
