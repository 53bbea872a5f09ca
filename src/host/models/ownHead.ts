/** Finds a head in the files although config.json says that the model has none of its own. */
import { statSync } from 'node:fs'
import type { TensorLocation } from '#engine/models/source.ts'
import { readFloatPieces, readPieces } from '#host/files/safetensors.ts'

const pieceElements = 1 << 20
const maxKnown = 64
/** Results of this process by the tensors' places and their files' times, since comparing them takes a while. */
const known = new Map<string, boolean>()

/**
 * Compares all numbers of two tensors and returns true if any differ; a pair compared once is not read again while its
 * files stay as they are. Errors: AppError 'file/unreadable'.
 */
export function differ(one: TensorLocation, other: TensorLocation): boolean {
  if (one.shape.join() !== other.shape.join()) return true
  const key = JSON.stringify([one, other].map(({ file, offset }) => [file, offset, timeOf(file)]))
  const found =
    known.get(key) ?? (one.dtype === other.dtype ? bytesDiffer(one, other) : numbersDiffer(one, other))
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

const bytesDiffer = (one: TensorLocation, other: TensorLocation): boolean =>
  piecesDiffer(
    readPieces(one, 4 * pieceElements),
    readPieces(other, 4 * pieceElements),
    (piece, theirs) => Buffer.compare(piece, theirs) !== 0,
  )

const numbersDiffer = (one: TensorLocation, other: TensorLocation): boolean =>
  piecesDiffer(readFloatPieces(one, pieceElements), readFloatPieces(other, pieceElements), (piece, theirs) =>
    piece.some((number, index) => number !== theirs[index]),
  )

/** Compares pieces; both sides have as many, each valid until the next is requested. */
function piecesDiffer<Piece>(
  ones: Iterable<Piece>,
  others: Iterator<Piece, void>,
  areDifferent: (one: Piece, other: Piece) => boolean,
): boolean {
  for (const one of ones) {
    const other = others.next()
    if (other.done === true || areDifferent(one, other.value)) {
      others.return?.()
      return true
    }
  }
  return false
}
