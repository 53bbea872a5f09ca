/**
 * Reads the output of a trainer that does not see the run's folder: events in numbered pieces among all else that it
 * prints, as watch.py writes them, and the files of its checkpoints with them.
 */
import { closeSync, constants, mkdirSync, writeSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { count } from '#shared/api/common.ts'
import { attempt } from '#shared/attempt.ts'
import type { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { writeError } from '#host/files/fileErrors.ts'
import { openOwnFile } from '#host/files/ownFiles.ts'
import { type LoggedEvent, parseLogLine } from '#host/workFolder/eventLog.ts'

export interface PrintedEvents {
  /** Takes printed text in; returns what of it is for people. */
  take(text: string): string
  /** Events that became whole since the last call. Errors: AppError 'file/unwritable' for a part of a checkpoint. */
  read(): LoggedEvent[]
}

const piece = /^(?<event>\d+) (?<place>\d+)\/(?<count>\d+) (?<sum>[\da-f]{8}) (?<text>.*)$/
const warning = /^warning (?<message>".*")$/

const file = z.object({
  type: z.literal('file'),
  folder: z.string().regex(/^[\w-]+\/checkpoint-\d+$/),
  name: z.string().regex(/^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/),
  offset: count,
  data: z.base64(),
})

/**
 * Files of checkpoints are written below `folder`. `mark`: stands in each line of this start, so that no other text that is printed,
 * such as the error of a reward function, is taken for one.
 */
export const readPrinted = (folder: string, mark: string): PrintedEvents => new Printed(folder, mark)

class Printed implements PrintedEvents {
  readonly #folder: string
  readonly #opening: string
  /** A line that has not ended yet. */
  #rest = ''
  /** Pieces of the event being put together. */
  #parts: string[] = []
  #number = 0
  #ready: LoggedEvent[] = []
  #failure: AppError | null = null

  constructor(folder: string, mark: string) {
    this.#folder = folder
    this.#opening = `@turnwise ${mark} `
  }

  take(text: string): string {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    const kept = lines.filter((line) => line !== '' && !this.#isOurs(line.replace(/\r$/, '')))
    return kept.map((line) => `${line}\n`).join('')
  }

  read(): LoggedEvent[] {
    if (this.#failure !== null) throw this.#failure
    const events = this.#ready
    this.#ready = []
    return events
  }

  #isOurs(whole: string): boolean {
    if (!whole.startsWith(this.#opening)) return false
    const line = whole.slice(this.#opening.length)
    const { groups } = piece.exec(line) ?? {}
    const said = warningIn(line)
    if (groups !== undefined) this.#takePiece(groups)
    if (said !== null) this.#warn(said)
    return groups !== undefined || said !== null
  }

  /** An event with a gap in it is lost as a whole, which the next one shows. */
  #takePiece({ event, place, count: all, sum, text = '' }: Readonly<Record<string, string>>): void {
    const number = Number(event)
    if (number < this.#number) return
    if (number > this.#number) this.#miss(number)
    if (Number(place) !== this.#parts.length || crc32(text) !== Number.parseInt(sum ?? '', 16)) return
    this.#parts.push(text)
    if (this.#parts.length < Number(all)) return
    const line = this.#parts.join('')
    this.#parts = []
    this.#number++
    this.#accept(parseLogLine(line) ?? { at: 0, type: 'damaged-line' })
  }

  #miss(number: number): void {
    this.#warn(`${plural(number - this.#number, 'message')} of the trainer did not arrive.`)
    this.#number = number
    this.#parts = []
  }

  #warn(message: string): void {
    this.#ready.push({ at: Date.now(), type: 'warning', message })
  }

  #accept(event: LoggedEvent): void {
    const { data } = file.safeParse(event)
    if (data === undefined) this.#ready.push(event)
    else this.#failure ??= writePart(path.join(this.#folder, data.folder, data.name), data)
  }
}

/** Reads a warning from a line; null for any other line: what several processes print may run together. */
const warningIn = (line: string): string | null =>
  attempt(() => String(JSON.parse(warning.exec(line)?.groups?.['message'] ?? '')), null)

const { O_RDWR, O_CREAT, O_TRUNC } = constants

/** Writes a piece of a file; returns the error, or null if there is none. */
function writePart(place: string, { offset, data }: z.output<typeof file>): AppError | null {
  const bytes = Buffer.from(data, 'base64')
  try {
    mkdirSync(path.dirname(place), { recursive: true })
    const handle = openOwnFile(place, offset === 0 ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR)
    try {
      for (let done = 0; done < bytes.length;)
        done += writeSync(handle, bytes, done, bytes.length - done, offset + done)
    } finally {
      closeSync(handle)
    }
    return null
  } catch (error) {
    return writeError(place, error)
  }
}
