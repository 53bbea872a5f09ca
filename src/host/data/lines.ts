/** Reads the lines of a text file, many at a time. */
import type { DataFile } from './dataFile.ts'
import { linesWithFeeds, textPieces } from './dataText.ts'

const lineFeed = 0x0a
const maxLineBytes = 64 << 20

/** The file cut at line ends: each block is one or more whole lines, or null for a line longer than 64 MiB. */
export async function* lineBlocks(file: DataFile): AsyncGenerator<Buffer | null> {
  const cutter = new LineCutter()
  for await (const piece of linesWithFeeds(textPieces(file))) yield* cutter.push(piece)
  yield* cutter.end()
}

/** Cuts lines: holds back the text after the last line end until the rest of that line arrives. */
class LineCutter {
  #held: Buffer[] = []
  #heldBytes = 0

  push(piece: Buffer): (Buffer | null)[] {
    const end = piece.lastIndexOf(lineFeed) + 1
    if (end === 0) {
      this.#hold(piece)
      return []
    }
    const blocks =
      this.#heldBytes > maxLineBytes ? this.#skipTo(piece.subarray(0, end)) : [this.#joined(piece, end)]
    this.#held = []
    this.#heldBytes = 0
    this.#hold(piece.subarray(end))
    return blocks
  }

  end(): (Buffer | null)[] {
    if (this.#heldBytes === 0) return []
    return [this.#heldBytes > maxLineBytes ? null : Buffer.concat(this.#held)]
  }

  #joined(piece: Buffer, end: number): Buffer {
    return Buffer.concat([...this.#held, piece.subarray(0, end)])
  }

  /** Drops the rest of a line that was too long. */
  #skipTo(lines: Buffer): (Buffer | null)[] {
    const rest = lines.subarray(lines.indexOf(lineFeed) + 1)
    return rest.length === 0 ? [null] : [null, rest]
  }

  #hold(tail: Buffer): void {
    this.#heldBytes += tail.length
    if (this.#heldBytes > maxLineBytes) this.#held = []
    else if (tail.length > 0) this.#held.push(tail)
  }
}
