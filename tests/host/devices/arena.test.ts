/** What `device plan` calculates, beside the memory that the runtime's arena really touches when the same programs run. */
import { expect, test } from 'vitest'
import { arenaMemory, arenaShapes, type ArenaCase } from '../../../scripts/kernels/arena.ts'
import { eachOf, isLong } from '../../sweeps.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const folder = temporaryFolder()
/** Of the four shapes, the two that take least time. */
const shapes = arenaShapes.filter(([, , vocabulary]) => vocabulary < 10_000)
const bases = ['f32', 'int4'] as const
/** In a short run each shape in one of the two. */
const cases = shapes.flatMap(([width, layers, vocabulary, tokens, perSegment], index) =>
  bases
    .filter((_, turn) => isLong || turn === index % bases.length)
    .map((base): ArenaCase => ({ width, layers, vocabulary, tokens, perSegment, base })),
)

eachOf(
  test.skipIf(process.platform !== 'linux'),
  { rows: cases, isAlways: () => false },
  'learning with $layers layers of width $width in $base takes what was calculated, to 15 %',
  (arena) => {
    const { plannedBytes, measuredBytes } = arenaMemory(arena, folder)
    expect(measuredBytes).toBeGreaterThan(50e6)
    expect(plannedBytes / measuredBytes).toBeGreaterThan(0.85)
    expect(plannedBytes / measuredBytes).toBeLessThan(1.15)
  },
)
