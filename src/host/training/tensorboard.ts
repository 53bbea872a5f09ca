/**
 * Event files for TensorBoard in a run's folder, written while it trains: a number for each metric, and samples as text.
 * Records and messages are those of TensorFlow's `tensorflow/core/lib/io/record_writer.h` and `core/util/event.proto`.
 */
import { hostname } from 'node:os'
import path from 'node:path'
import { closeSync } from 'node:fs'
import type { RunEvent, SamplesEvent } from '#shared/events.ts'
import { ProtobufWriter } from '#shared/protobuf.ts'
import { appendWhole, makeOwnFolder, openOwnFile } from '#host/files/ownFiles.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { mostTexts, numbersOf, type EventSink } from './eventSink.ts'

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
  const write = (at: number, fill: Fill) => {
    const event = new ProtobufWriter().double(1, now() / 1000).integer(2, at)
    fill(event)
    appendWhole(file, handle, record(event.finish()))
  }
  write(0, (event) => event.string(3, 'brain.Event:2'))
  // SessionLog.START purges the steps from its own on.
  write(step + 1, (event) => event.message(7, (log) => log.integer(1, 1)))
  return {
    take(event) {
      const values = valuesOf(event)
      if (values.length > 0 && 'step' in event)
        write(event.step, (message) =>
          message.message(5, (summary) => {
            for (const value of values) summary.message(1, value)
          }),
        )
    },
    [Symbol.dispose]: () => closeSync(handle),
  }
}

/** Writes the fields of a message. */
type Fill = (message: ProtobufWriter) => void

/** Values of a `Summary`. */
const valuesOf = (event: RunEvent): readonly Fill[] =>
  event.type === 'samples'
    ? textsOf(event)
    : numbersOf(event).map(
        ([name, number]): Fill =>
          (value) =>
            value.string(1, name).float(2, number),
      )

function textsOf({ source, samples }: SamplesEvent): readonly Fill[] {
  const texts = samples
    .slice(0, mostTexts)
    .map(({ prompt, completion, reward }) => fenced(prompt, completion, reward ?? null))
  if (texts.length === 0) return []
  const plugin: Fill = (metadata) => metadata.message(1, (data) => data.string(1, 'text'))
  const shape: Fill = (shape) => shape.message(2, (dimension) => dimension.integer(1, texts.length))
  const tensor: Fill = (tensor) => {
    // DT_STRING
    tensor.integer(1, 7).message(2, shape)
    for (const text of texts) tensor.string(8, text)
  }
  return [(value) => value.string(1, `samples/${source}`).message(9, plugin).message(8, tensor)]
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
