/**
 * Memory of the members of a population that train at the same time: what each has of its own, and that the base is there once.
 * Linux only.
 *
 *   node bench/host/studyMemory.ts [SHAPE] [MEMBERS]
 *
 * Trains a small population one member at a time, then a large one all at a time, and reads `/proc/PID/smaps` of the training
 * processes. Exit code 1 where all together take more than the weight file and so many times what one has of its own.
 */
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { kilobytes } from '#engine/runtime/memory.ts'
import { createHost } from '#host/createHost.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import { isModelShapeName, modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'

const [, , shape = 'smol-30m', count = '6'] = process.argv
if (!isModelShapeName(shape)) throw new Error(`There is no shape ${shape}.`)
const members = Number(count)
const everyMs = 250

/** Bytes at one moment, of all training processes together. */
interface Use {
  readonly processes: number
  /** Allocated memory: no file is behind it. */
  readonly own: number
  /** Pages of the model's files; one that several processes have mapped counts once. */
  readonly base: number
  /** The same, counted by every process. */
  readonly mapped: number
}

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-study-memory-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const model = path.join(folder, 'model')
await writeRandomModel(model, modelShapes[shape], 1, 'F32')

const weights = statSync(path.join(model, 'model.safetensors')).size
const single = await peakOf(2, 1)
const together = await peakOf(members, members)
report()

/** The highest of each. */
async function peakOf(size: number, parallel: number): Promise<Use> {
  await using host = createHost({ dataDirectory: path.join(folder, String(parallel)), servesQueue: false })
  const { id } = await host.studies.start({ ...config(size), parallel }, folder)
  const uses: Use[] = []
  while (host.studies.get(id).status === 'running') {
    uses.push(useNow(host))
    await setTimeout(everyMs)
  }
  const { status, error } = host.studies.get(id)
  if (status !== 'finished') throw new Error(error?.message ?? status)
  const highest = (of: (use: Use) => number) => Math.max(...uses.map(of))
  return {
    processes: highest(({ processes }) => processes),
    own: highest(({ own }) => own),
    base: highest(({ base }) => base),
    mapped: highest(({ mapped }) => mapped),
  }
}

/** One generation each before and after cloning. */
function config(size: number) {
  const demo = path.join(resourcesDirectory, 'demo')
  return {
    model,
    data: { train: path.join(demo, 'train.jsonl'), heldOut: path.join(demo, 'heldout.jsonl') },
    rewards: [{ function: 'starter-format' }],
    adapter: { rank: 16, alpha: 32, targets: 'all-linear' },
    rollout: { promptsPerStep: 1, groupSize: 4, maxNewTokens: 32 },
    device: { kind: 'cpu', threads: 1 },
    steps: 2,
    evaluation: { every: 1, rows: 2 },
    checkpoints: { every: 1 },
    population: {
      size,
      every: 1,
      mutation: { parameters: { 'optimization.learningRate': { min: 1e-5, max: 1e-3 } } },
    },
  }
}

/** Of the training processes that are there. */
function useNow({ supervisor }: Host): Use {
  const uses = supervisor.list().flatMap(({ pid }) => {
    try {
      return pid === null ? [] : [useOf(readFileSync(`/proc/${pid}/smaps`, 'utf8'))]
    } catch {
      return [] // it has just ended
    }
  })
  const sum = (of: (use: Omit<Use, 'processes'>) => number) => uses.reduce((all, use) => all + of(use), 0)
  return {
    processes: uses.length,
    own: sum(({ own }) => own),
    base: sum(({ base }) => base),
    mapped: sum(({ mapped }) => mapped),
  }
}

/** From the report of every mapping: a line that begins with its addresses, then lines of figures. */
function useOf(report: string): Omit<Use, 'processes'> {
  const use = { own: 0, base: 0, mapped: 0 }
  for (const mapping of report.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)) {
    use.own += kilobytes(mapping, 'Anonymous') ?? 0
    if (!mapping.slice(0, mapping.indexOf('\n')).includes(folder)) continue
    use.base += kilobytes(mapping, 'Pss') ?? 0
    use.mapped += kilobytes(mapping, 'Rss') ?? 0
  }
  return use
}

/** Of one run: its adapter's weights, and what the run keeps of that size (reference, base, gradient, two moments). */
function adapterBytes(): number {
  const checkpoints = globSync('1/runs/*/checkpoints/*/actor/adapter_model.safetensors', { cwd: folder })
  return statSync(path.join(folder, checkpoints[0] ?? '')).size
}

function report(): void {
  const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
  const all = together.base + together.own
  const bound = weights + members * single.own
  const rows = {
    'weight file': weights,
    'one member: pages of it': single.base,
    'one member: own memory': single.own,
    'of which six arrays of the adapter': 6 * adapterBytes(),
    [`${members} members: pages of it, counted once`]: together.base,
    [`${members} members: pages of it, counted by each`]: together.mapped,
    [`${members} members: own memory`]: together.own,
    [`${members} members: base and own memory`]: all,
    [`weight file and ${members} × own memory of one`]: bound,
  }
  for (const [what, bytes] of Object.entries(rows))
    console.log(`${what.padEnd(48)}${megabytes(bytes).padStart(9)}`)
  if (all > bound || together.processes < members) process.exitCode = 1
}
