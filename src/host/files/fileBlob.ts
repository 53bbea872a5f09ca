import type { FileHandle } from 'node:fs/promises'
import { AppError } from '#shared/errors.ts'

const chunkBytes = 1 << 18
/** Longest part that is read as a whole. */
const maxWholeBytes = 1 << 26

/** Part of an open file, read where it is needed. Node's own blob of a file (`openAsBlob`) ends at 4 GiB. */
export class FileBlob extends Blob {
  override readonly size: number
  readonly #handle: FileHandle
  readonly #range: { readonly start: number; readonly end: number }
  readonly #onRead: (bytes: number) => void

  constructor(
    handle: FileHandle,
    range: { readonly start: number; readonly end: number },
    onRead: (bytes: number) => void,
  ) {
    super([])
    this.size = range.end - range.start
    this.#handle = handle
    this.#range = range
    this.#onRead = onRead
  }

  /** Takes no positions from the end. */
  override slice(start = 0, end = this.size): FileBlob {
    const at = (position: number) => this.#range.start + Math.min(position, this.size)
    return new FileBlob(this.#handle, { start: at(start), end: at(end) }, this.#onRead)
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    let { start: at } = this.#range
    return new ReadableStream({
      pull: async (controller) => {
        const bytes = new Uint8Array(Math.min(chunkBytes, this.#range.end - at))
        if (bytes.length === 0) {
          controller.close()
          return
        }
        const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, at)
        if (bytesRead === 0) throw new AppError('file/unreadable', 'A file became shorter while it was read.')
        at += bytesRead
        this.#onRead(bytesRead)
        controller.enqueue(bytes.subarray(0, bytesRead))
      },
    })
  }

  /** Errors: RangeError for more than 64 MiB. */
  override arrayBuffer(): Promise<ArrayBuffer> {
    if (this.size > maxWholeBytes) throw new RangeError(`Expected at most ${maxWholeBytes} bytes at once.`)
    return new Response(this.stream()).arrayBuffer()
  }
}
