/**
 * Compares what `device plan` calculates with the runtime's arena: learns with the same programs on the CPU provider and counts
 * the memory that the arena has touched. Linux alone tells that. Prints the table of bench/history/devices.md:
 *
 *     node scripts/kernels/arena.ts
 */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ArenaCase {
  readonly width: number
  readonly layers: number
  readonly vocabulary: number
  readonly base: 'f32' | 'int8' | 'int4'
  readonly tokens: number
  /** Layers of a segment. */
  readonly perSegment: number
}

export interface ArenaMemory {
  /** Bytes of the arena and of what was fed. */
  readonly measuredBytes: number
  readonly plannedBytes: number
}

/** Learns from one sequence in a process of its own; models of random weights are written into the folder. */
export function arenaMemory(arena: ArenaCase, folder: string): ArenaMemory {
  const log = path.join(folder, 'runtime.log')
  const errors = openSync(log, 'w')
  const program = fileURLToPath(new URL('arenaRun.ts', import.meta.url))
  const child = spawnSync(process.execPath, [program, log, JSON.stringify(arena), folder], {
    stdio: ['ignore', 'pipe', errors],
    encoding: 'utf8',
    env: { ...process.env, TURNWISE_RUNTIME_LOG: '1' },
  })
  closeSync(errors)
  if (child.status !== 0) throw new Error(`The measurement failed; ${log} says why.`)
  return JSON.parse(child.stdout) as ArenaMemory
}

/** Width, layers, vocabulary, tokens and layers of a segment. */
export const arenaShapes = [
  [512, 4, 8_192, 512, 2],
  [256, 12, 2_048, 1024, 4],
  [256, 24, 32_768, 512, 24],
  [1024, 4, 16_384, 512, 2],
] as const

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`

function table(folder: string): void {
  const columns = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`
  const names = ['Width', 'Layers', 'Vocabulary', 'Tokens', 'Layers of a segment', 'Base']
  process.stdout.write(columns([...names, 'Planned', 'Measured', 'Ratio']))
  process.stdout.write(columns(Array.from({ length: 9 }, () => '---')))
  for (const [width, layers, vocabulary, tokens, perSegment] of arenaShapes)
    for (const base of ['f32', 'int8', 'int4'] as const) {
      const found = arenaMemory({ width, layers, vocabulary, tokens, perSegment, base }, folder)
      const { plannedBytes, measuredBytes } = found
      const shape = [width, layers, vocabulary, tokens, perSegment].map(String)
      const figures = [megabytes(plannedBytes), megabytes(measuredBytes)]
      process.stdout.write(columns([...shape, base, ...figures, (plannedBytes / measuredBytes).toFixed(2)]))
    }
}

if (import.meta.main) {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-arena-'))
  try {
    table(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
