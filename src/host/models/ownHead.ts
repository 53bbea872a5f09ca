/** A head that lies in the files although config.json says that the model has none of its own. */
import { statSync } from 'node:fs'
import type { TensorLocation } from '#engine/models/source.ts'
import { readFloatPieces, readPieces } from '#host/files/safetensors.ts'

const pieceElements = 1 << 20
const maxKnown = 64
/** What was found out in this process, by the tensors' places and their files' times: reading both takes a while. */
const known = new Map<string, boolean>()

/**
 * Whether two tensors hold other numbers, told from all of them; what was compared once is not read again while its files
 * stay as they are. Errors: AppError 'file/unreadable'.
 */
export function differ(one: TensorLocation, other: TensorLocation): boolean {
  if (one.shape.join() !== other.shape.join()) return true
  const key = JSON.stringify([one, other].map(({ file, offset }) => [file, offset, timeOf(file)]))
  const found = known.get(key) ?? (one.dtype === other.dtype ? bytesDiffer(one, other) : numbersDiffer(one, other))
  known.delete(key)
  known.set(key, found)
  const [oldest] = known.keys()
  if (known.size > maxKnown && oldest !== undefined) known.delete(oldest)
  return found
}

function timeOf(file: string): readonly number[] {
  const { size = 0, mtimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {}
  return [size, mtimeMs]
}

function bytesDiffer(one: TensorLocation, other: TensorLocation): boolean {
  const theirs = readPieces(other, 4 * pieceElements)
  for (const piece of readPieces(one, 4 * pieceElements)) {
    const { value } = theirs.next()
    if (!value || Buffer.compare(piece, value) !== 0) return true
  }
  return false
}

function numbersDiffer(one: TensorLocation, other: TensorLocation): boolean {
  const theirs = readFloatPieces(other, pieceElements)
  for (const piece of readFloatPieces(one, pieceElements)) {
    const { value } = theirs.next()
    if (!value || piece.some((number, index) => number !== value[index])) return true
  }
  return false
}
