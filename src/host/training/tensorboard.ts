/**
 * Event files for TensorBoard in a run's folder, written while it trains: a number for each metric, and samples as text.
 * Records and messages are those of TensorFlow's `tensorflow/core/lib/io/record_writer.h` and `core/util/event.proto`.
 */
import { hostname } from 'node:os'
import path from 'node:path'
import { closeSync } from 'node:fs'
import type { RunEvent, SamplesEvent } from '#shared/events.ts'
import { appendWhole, makeOwnFolder, openOwnFile } from '#host/files/ownFiles.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'

/** Takes what a run reports. */
export interface EventSink extends Disposable {
  /** Errors: AppError 'file/unwritable'. */
  take(event: RunEvent): void
}

/** Samples of a step that are written as text. */
const mostTexts = 4

/**
 * Opens a new file, in which the run goes on behind `step`: what earlier files say of later steps counts no more. Errors:
 * AppError 'file/unwritable'.
 */
export function openTensorBoard(runDirectory: string, step: number, now = Date.now): EventSink {
  const folder = runPaths(runDirectory).tensorboard
  makeOwnFolder(folder)
  const seconds = now() / 1000
  const name = ['events.out.tfevents', String(Math.floor(seconds)), hostname(), process.pid, step].join('.')
  const file = path.join(folder, name)
  const handle = openOwnFile(file)
  const write = (event: Uint8Array) => appendWhole(file, handle, record(event))
  const stamp = (at: number) => [double(1, now() / 1000), whole(2, at)]
  write(message([...stamp(0), bytes(3, Buffer.from('brain.Event:2'))]))
  // SessionLog.START purges the steps from its own on.
  write(message([...stamp(step + 1), bytes(7, whole(1, 1))]))
  return {
    take(event) {
      const values = valuesOf(event)
      if (values.length > 0 && 'step' in event)
        write(message([...stamp(event.step), bytes(5, message(values))]))
    },
    [Symbol.dispose]: () => closeSync(handle),
  }
}

/** Values of a `Summary`. */
function valuesOf(event: RunEvent): readonly Uint8Array[] {
  if (event.type === 'samples') return textsOf(event)
  if (event.type !== 'step' && event.type !== 'evaluation') return []
  return Object.entries(event.metrics).flatMap(([name, value]) =>
    value === undefined ? [] : [bytes(1, message([bytes(1, Buffer.from(name)), float(2, value)]))],
  )
}

function textsOf({ source, samples }: SamplesEvent): readonly Uint8Array[] {
  const texts = samples
    .slice(0, mostTexts)
    .map(({ prompt, completion, reward }) => Buffer.from(fenced(prompt, completion, reward ?? null)))
  if (texts.length === 0) return []
  const plugin = bytes(9, bytes(1, bytes(1, Buffer.from('text'))))
  const shape = bytes(2, bytes(2, whole(1, texts.length)))
  // DT_STRING
  const tensor = bytes(8, message([whole(1, 7), shape, ...texts.map((text) => bytes(8, text))]))
  return [bytes(1, message([bytes(1, Buffer.from(`samples/${source}`)), plugin, tensor]))]
}

/** Markdown, in which the texts stand as they are. */
function fenced(prompt: string, completion: string, reward: number | null): string {
  const block = (text: string) =>
    text
      .split('\n')
      .map((line) => `    ${line}`)
      .join('\n')
  return `${block(prompt)}\n\n${block(completion)}\n\nreward ${reward ?? 'none'}`
}

/* Protocol buffers: fields of a message. */

const message = (fields: readonly Uint8Array[]): Uint8Array => Buffer.concat(fields)

function varint(value: number): number[] {
  const rest = Math.floor(value / 128)
  return rest === 0 ? [value] : [(value % 128) + 128, ...varint(rest)]
}

/** A whole number of at least 0. */
const whole = (field: number, value: number): Uint8Array => Uint8Array.from([field << 3, ...varint(value)])

const bytes = (field: number, value: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.from([(field << 3) | 2, ...varint(value.length)]), value])

function double(field: number, value: number): Uint8Array {
  const buffer = Buffer.alloc(9, (field << 3) | 1)
  buffer.writeDoubleLE(value, 1)
  return buffer
}

function float(field: number, value: number): Uint8Array {
  const buffer = Buffer.alloc(5, (field << 3) | 5)
  buffer.writeFloatLE(value, 1)
  return buffer
}

/* Records: length, its checksum, data, its checksum. */

function record(data: Uint8Array): Uint8Array {
  const [head, tail] = [Buffer.alloc(12), Buffer.alloc(4)]
  head.writeBigUInt64LE(BigInt(data.length))
  head.writeUInt32LE(masked(head.subarray(0, 8)), 8)
  tail.writeUInt32LE(masked(data))
  return Buffer.concat([head, data, tail])
}

const masked = (data: Uint8Array): number => {
  const crc = crc32c(data)
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

/** Castagnoli's polynomial, reflected. */
const polynomial = 0x82f63b78

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ polynomial : rest >>> 1
  return rest
})

/** CRC-32C (RFC 3720, appendix B.4). */
export function crc32c(data: Uint8Array): number {
  let crc = ~0
  for (const byte of data) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0)
  return ~crc >>> 0
}
