/** How often the frozen weights lie on a device. Skipped by name where there is no software GPU, whose memory is the process's. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { isLong, longTitle } from '../sweeps.ts'
import { missingSoftwareGpu, softwareGpu } from './softwareDriver.ts'

const script = path.join(import.meta.dirname, 'openedModel.ts')

/** Freed memory goes back to the system at once, so that what is left is in use. */
const frugal = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '65536' }

interface Opened {
  readonly weights: number
  /** Allocated after scoring, and after all else. */
  readonly scored: number
  readonly all: number
}

async function opened(width: number, base: string): Promise<Opened> {
  const env = { ...process.env, ...softwareGpu, ...frugal }
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--expose-gc', script, String(width), base],
    {
      env,
    },
  )
  return JSON.parse(stdout.slice(stdout.lastIndexOf('{"weights"'))) as Opened
}

const title = 'scoring, learning and generation together have the weights on the device once'

test.runIf(isLong && missingSoftwareGpu === null)(
  missingSoftwareGpu === null ? longTitle(title) : `${title} (skipped: ${missingSoftwareGpu})`,
  async () => {
    // Two models that differ in width alone: the same programs, and so the same memory for all but weights.
    const [small, large] = [await opened(256, 'f32'), await opened(512, 'f32')]
    const copies = (of: 'scored' | 'all') => (large[of] - small[of]) / (large.weights - small.weights)
    expect(large.weights).toBeGreaterThan(120e6)
    // A process's memory tells this to a tenth or two: once, and not twice.
    expect(copies('scored')).toBeGreaterThan(0.7)
    expect(copies('scored')).toBeLessThan(1.3)
    expect(copies('all')).toBeLessThan(1.6) // what the runtime keeps for its next run included
  },
)

const inBlocks = 'a base in 4 bits lies on the device in 4 bits'

test.runIf(isLong && missingSoftwareGpu === null)(
  missingSoftwareGpu === null ? longTitle(inBlocks) : `${inBlocks} (skipped: ${missingSoftwareGpu})`,
  async () => {
    const [small, large] = [await opened(256, 'int4'), await opened(512, 'int4')]
    expect(large.weights).toBeLessThan(21e6) // 123 MB in f32
    // Beside the blocks a spare buffer as large as the largest matrix, and small buffers rounded up.
    expect((large.scored - small.scored) / (large.weights - small.weights)).toBeLessThan(2)
  },
)
