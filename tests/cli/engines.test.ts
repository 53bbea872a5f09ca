/**
 * Runs that TRL trains, started from the command line by each launcher, where Python with it is at hand: `python3`, or the program
 * named by TURNWISE_PYTHON. Elsewhere these tests are passed over, by name.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { interpreter } from '../host/python/interpreter.ts'
import { starterConfig } from '../host/runs/runFixture.ts'
import { createWorkplace, linesOf } from './turnwise.ts'

const lookUp =
  'import importlib.util as u; assert all(u.find_spec(name) for name in ("trl", "peft", "datasets", "accelerate"))'
const isMissing = spawnSync(interpreter, ['-c', lookUp]).status !== 0
const isPosix = process.platform !== 'win32'

const place = createWorkplace()
afterAll(() => {
  place[Symbol.dispose]()
})

type Event = Record<string, unknown>

function writeConfig(engine: object, changes: object = {}): string {
  return place.write('run.json', {
    ...starterConfig,
    optimization: { learningRate: 0.005, minibatchSize: 4 },
    rollout: { promptsPerStep: 2, groupSize: 4, maxNewTokens: 4 },
    evaluation: { every: 0, rows: 2 },
    shownTrajectories: 4,
    steps: 2,
    engine: { kind: 'trl', python: interpreter, ...engine },
    ...changes,
  })
}

async function train(engine: object, changes: object = {}) {
  const file = writeConfig(engine, changes)
  const { status, stdout, stderr } = await place.run('train', file, '--trust-python', '--json')
  const events = linesOf(stdout) as Event[]
  const typed = (type: string) => events.filter((event) => event['type'] === type)
  return { status, stderr, typed, folder: String(events[0]?.['directory']) }
}

test.skipIf(isMissing)(
  'accelerate trains in two processes on CPUs (skipped without Python with trl)',
  async () => {
    const { status, stderr, typed } = await train({ launcher: 'accelerate', processes: 2 })
    expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
    expect(typed('engine')).toMatchObject([{ processes: 2, device: 'cpu' }])
    expect(typed('step').map(({ step }) => step)).toEqual([1, 2])
    expect(typed('warning')).toEqual([])
    expect(typed('checkpoint-saved')).toHaveLength(1)
  },
  600_000,
)

test.skipIf(isMissing)(
  'DeepSpeed and FSDP without GPUs are refused before a run is made, in words of accelerate (skipped without Python with trl)',
  async () => {
    const write = (type: string, more: string) =>
      place.write(
        `${type}.yaml`,
        `distributed_type: ${type}\nnum_processes: 2\nnum_machines: 1\nmixed_precision: 'no'\nuse_cpu: false\n${more}`,
      )
    const hasGpu =
      spawnSync(interpreter, ['-c', 'import torch; assert torch.cuda.is_available()']).status === 0
    const files = [
      write('DEEPSPEED', 'deepspeed_config:\n  zero_stage: 2\n  gradient_accumulation_steps: 1\n'),
      write('FSDP', 'fsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: true\n'),
    ]
    if (hasGpu) return
    for (const accelerateConfig of files) {
      const { status, stderr, typed } = await train({ launcher: 'accelerate', accelerateConfig })
      expect(status).not.toBe(0)
      expect(stderr).toMatch(
        /accelerate cannot do here what (?:DEEPSPEED\.yaml says: .*DeepSpeed|FSDP\.yaml says: asked for FSDP, it makes)/,
      )
      expect(typed('run')).toEqual([])
    }
  },
  600_000,
)

test.skipIf(isMissing || !isPosix)(
  'A command trains a copy that the run’s folder does not see, whose checkpoints come back printed (skipped without Python with trl)',
  async () => {
    const there = place.path('there')
    const command = `rm -rf ${there} && cp -r .. ${there} && cd ${there}/trl && {python} {script} | cat`
    const { status, stderr, typed, folder } = await train({ launcher: 'command', command, results: 'output' })
    expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
    expect(typed('step').map(({ step }) => step)).toEqual([1, 2])
    expect(typed('samples').length).toBeGreaterThan(0)
    const own = path.join(folder, 'checkpoints', 'step-000002')
    expect(existsSync(path.join(own, 'engine', 'optimizer.pt'))).toBe(true)
    // Nothing of it was written by the trainer itself.
    expect(existsSync(path.join(folder, 'engine', 'trl', 'events.jsonl'))).toBe(false)
    expect(existsSync(path.join(there, 'trl', 'output', 'checkpoint-4'))).toBe(false)
    expect(readFileSync(path.join(folder, 'worker.log'), 'utf8')).not.toContain('@turnwise')
  },
  600_000,
)

test.skipIf(isMissing || !isPosix)(
  'A disk that is full where the trainer saves ends the run in a sentence, its history whole (skipped without Python with trl)',
  async () => {
    // No file of the trainer may grow beyond 64 KiB: its optimizer is larger.
    const command = 'ulimit -f 128; exec {python} {script}'
    const changes = { checkpoints: { every: 1 }, shownTrajectories: 0, adapter: { rank: 16, alpha: 16 } }
    const { status, stderr, typed } = await train({ launcher: 'command', command }, changes)
    expect(status).not.toBe(0)
    expect(stderr).toMatch(/TRL ended after step \d before the run was over .*File too large/)
    expect(typed('step').map(({ step }) => step)).toEqual([1])
    expect(typed('checkpoint-saved')).toEqual([])
  },
  600_000,
)
