import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { RunEvent } from '#shared/events.ts'
import { crc32c, openTensorBoard } from '#host/training/tensorboard.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { python } from '../export/python.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const step = (at: number, reward: number) =>
  ({ type: 'step', step: at, metrics: { reward, 'time/rollout': 0.25 } }) as unknown as RunEvent
const samples = {
  type: 'samples',
  step: 5,
  source: 'rollout',
  samples: [{ prompt: 'What is 2 + 3?\n# no head', completion: 'fünf', reward: 0.5 }],
} as unknown as RunEvent

/** A run of five steps that goes on from its checkpoint of step 3 with other values. */
function resumedRun(): string {
  const folder = temporaryFolder()
  {
    using board = openTensorBoard(folder, 0, () => 1_700_000_000_000)
    for (const at of [1, 2, 3, 4, 5]) board.take(step(at, at / 8))
    board.take({ type: 'log', message: 'no number' } as unknown as RunEvent)
  }
  using board = openTensorBoard(folder, 3, () => 1_700_000_060_000)
  for (const at of [4, 5]) board.take(step(at, at))
  board.take(samples)
  return runPaths(folder).tensorboard
}

/** Payloads of the records of a file, in which every checksum is right. */
function payloads(file: string): Buffer[] {
  const unmask = (masked: number) => {
    const turned = (masked - 0xa282ead8) >>> 0
    return ((turned << 15) | (turned >>> 17)) >>> 0
  }
  const all = readFileSync(file)
  const found: Buffer[] = []
  for (let at = 0; at < all.length;) {
    const length = Number(all.readBigUInt64LE(at))
    expect(unmask(all.readUInt32LE(at + 8))).toBe(crc32c(all.subarray(at, at + 8)))
    const data = all.subarray(at + 12, at + 12 + length)
    expect(unmask(all.readUInt32LE(at + 12 + length))).toBe(crc32c(data))
    found.push(data)
    at += length + 16
  }
  return found
}

test('checksums are those of RFC 3720, B.4', () => {
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
  expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43)
  expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e)
})

test('a file begins with its version and the step it goes on from, and has a record for each event with values', () => {
  const folder = resumedRun()
  const files = readdirSync(folder).sort()
  expect(files).toHaveLength(2)
  const [first = [], second = []] = files.map((name) => payloads(path.join(folder, name)))
  expect(first).toHaveLength(2 + 5)
  expect(second).toHaveLength(2 + 3)
  expect(first[0]?.includes('brain.Event:2')).toBe(true)
  // step 4, session_log { status: START }
  expect(second[1]?.subarray(9).toString('hex')).toBe('10043a020801')
  expect(second.at(-1)?.includes('    # no head')).toBe(true)
  expect(second.at(-1)?.includes('fünf')).toBe(true)
})

const hasTensorBoard = spawnSync(python, ['-c', 'import tensorboard']).status === 0

const readBack = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
log = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
log.Reload()
texts = [text.decode() for each in log.Tensors("samples/rollout") for text in each.tensor_proto.string_val]
print(json.dumps({"reward": [[each.step, each.value] for each in log.Scalars("reward")], "texts": texts}))
`

test.skipIf(!hasTensorBoard)('the Python package tensorboard reads one history of a resumed run', () => {
  const { stdout } = spawnSync(python, ['-c', readBack, resumedRun()], { encoding: 'utf8' })
  expect(JSON.parse(stdout)).toEqual({
    reward: [1, 2, 3].map((at) => [at, at / 8]).concat([4, 5].map((at) => [at, at])),
    texts: ['    What is 2 + 3?\n    # no head\n\n    fünf\n\nreward 0.5'],
  })
})
