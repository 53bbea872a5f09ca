/** Typed arrays as text for JSON: base64 of their little-endian bytes. Runs in Node and in browsers. */

export function packArray(values: Float32Array | Int32Array): string {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  let text = ''
  // In chunks, since calls are limited in their number of arguments.
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}

/** Unpacks numbers written by `packArray`. Errors: a plain Error if the text is not a whole number of floats. */
export function unpackFloats(text: string): Float32Array {
  return new Float32Array(bytesOf(text).buffer)
}

export function unpackInts(text: string): Int32Array {
  return new Int32Array(bytesOf(text).buffer)
}

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
