/**
 * A disk that becomes full while TRL trains: the data directory is a small file system in memory, which takes an account that may
 * mount one, and Python with trl. Elsewhere these tests are passed over, by name.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { reviewEngine } from '#host/engines/engineCode.ts'
import { jobStarter } from '#host/processes/job.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowPython } from '#host/python/consent.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { Supervisor } from '#host/runs/supervisor.ts'
import { historyOf, starterConfig, stepsOf, until } from '../runs/runFixture.ts'
import { interpreter } from '../python/interpreter.ts'

const lookUp =
  'import importlib.util as u; assert all(u.find_spec(name) for name in ("trl", "peft", "datasets", "accelerate"))'
const hasTrl = process.platform === 'linux' && spawnSync(interpreter, ['-c', lookUp]).status === 0

const place = mkdtempSync(path.join(tmpdir(), 'turnwise-full-'))
const megabytes = 48
const isMounted =
  hasTrl && spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', place]).status === 0
afterAll(() => {
  if (isMounted) spawnSync('umount', [place])
  for (const folder of [place, elsewhere]) rmSync(folder, { recursive: true, force: true })
})

/** On another disk. */
const elsewhere = `${place}-elsewhere`
const filler = path.join(place, 'filler')
afterEach(() => rmSync(filler, { force: true }))

/** Leaves so many bytes for the others, who go on writing: from asking what is free to taking it must be short. */
function fillUp(left: number): void {
  const zeros = Buffer.alloc(megabytes * 2 ** 20)
  const { bavail, bsize } = statfsSync(place)
  writeFileSync(filler, zeros.subarray(0, bavail * bsize - left))
}

const steps = 9

function createRun(engine: object) {
  const directory = mkdtempSync(path.join(place, 'home-'))
  const consents = consentsFile(directory)
  const config = parseRunConfig({
    ...starterConfig,
    optimization: { learningRate: 0.005, minibatchSize: 8 },
    rollout: { promptsPerStep: 2, groupSize: 4, maxNewTokens: 4 },
    // Large enough for a checkpoint of the trainer not to fit into what is left.
    adapter: { rank: 16, alpha: 32 },
    steps,
    evaluation: { every: 0, rows: 2 },
    checkpoints: { every: 3, keepLast: 1 },
    shownTrajectories: 4,
    device: { threads: 1 },
    engine: { kind: 'trl', python: interpreter, ...engine },
  })
  allowPython(reviewEngine(config, directory), consents)
  const supervise = () =>
    new Supervisor({ cacheDirectory: dataFolders(directory).cache, consents, startJob: jobStarter() })
  return { directory, supervise, run: createRunFolder(directory, config) }
}

test.skipIf(!isMounted).each([
  [
    'in one process',
    { processes: 1 },
    /engine\/trl\/output\/checkpoint-6 could not be written: the disk is full/,
  ],
  [
    'in two processes of accelerate',
    { processes: 2, launcher: 'accelerate' },
    // Where the trainer's checkpoint just fits, there is no room for Turnwise's own.
    /(checkpoint-6|step-000006)\S* could not be written: the disk is full/,
  ],
  // Printed by a trainer elsewhere, it is Turnwise that writes it.
  [
    'elsewhere',
    {
      launcher: 'command',
      results: 'output',
      command: `rm -rf '${elsewhere}' && cp -r .. '${elsewhere}' && cd '${elsewhere}/trl' && {python} {script}`,
    },
    /checkpoint-6\S* could not be written: the disk is full/,
  ],
])(
  'A full disk ends a run that TRL trains %s in a sentence, and it resumes when there is space (skipped without Python with trl, and where nothing may be mounted)',
  async (_, engine, sentence) => {
    const { directory, supervise, run } = createRun(engine)
    const ended = supervise().start(run, { resumeFrom: null })
    await until(() => historyOf(run, 'checkpoint-saved').length > 0)
    // What the trainer wrote of it is removed once it is kept.
    await until(() => !existsSync(path.join(run.directory, 'engine', 'trl', 'output', 'checkpoint-3')))
    fillUp(600_000)
    const { kind, error } = await ended
    expect(kind).toBe('failed')
    expect(error?.message).toMatch(sentence)
    const kept = stepsOf(run)
    expect(kept).toEqual(kept.map((_, i) => i + 1))
    rmSync(filler)
    const { checkpoint } = resolveResume(directory, run.id)
    expect(checkpoint?.step).toBe(3)
    expect(await supervise().start(run, { resumeFrom: checkpoint?.directory ?? null })).toMatchObject({
      kind: 'finished',
    })
    expect(stepsOf(run)).toEqual(Array.from({ length: steps }, (_, i) => i + 1))
  },
  600_000,
)
