/**
 * Projects started in earnest, two steps on the processor, where Python with the library is at hand: `python3`, or the
 * program named by TURNWISE_PYTHON (for AgileRL TURNWISE_PYTHON_AGILERL). What the library logs of its completions must be
 * what our own scoring says of them. Elsewhere these tests are passed over, by name.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { readDemoConfig } from '#host/runs/demoConfig.ts'
import { writeProject } from '#host/exchange/project/project.ts'
import type { ProjectTool } from '#host/exchange/tools.ts'
import { agilerlCompletions, ownScores, trlCompletions } from './loggedCompletions.ts'

const python = process.env['TURNWISE_PYTHON'] ?? 'python3'
const agilerlPython = process.env['TURNWISE_PYTHON_AGILERL'] ?? python

const has = (program: string, modules: string): boolean =>
  spawnSync(program, ['-c', `import ${modules}`], { timeout: 100_000 }).status === 0

const hasTrl = has(python, 'trl, peft, datasets')
const hasAgilerl = has(agilerlPython, 'agilerl, peft, openenv')

let project: string
beforeEach(() => {
  project = mkdtempSync(path.join(tmpdir(), 'turnwise-other-tool-'))
})
afterEach(() => rmSync(project, { recursive: true, force: true }))

async function start(tool: ProjectTool, program: string, args: readonly string[]): Promise<void> {
  const demo = readDemoConfig(project)
  const config = parseRunConfig({
    ...demo,
    rollout: { ...demo.rollout, promptsPerStep: 2, groupSize: 4 },
    evaluation: { ...demo.evaluation, every: 0 },
  })
  await writeProject({ config, tool, out: project, checkpoint: null, runDirectory: null })
  const { status, stdout, stderr } = spawnSync(program, ['train.py', ...args], {
    cwd: path.join(project, tool),
    env: { ...process.env, TURNWISE_NODE: process.execPath, OMP_NUM_THREADS: '2' },
    encoding: 'utf8',
    timeout: 280_000,
  })
  if (status !== 0) throw new Error(`train.py ended with ${status ?? 'a signal'}:\n${stdout}${stderr}`)
}

test.skipIf(!hasTrl)(
  'TRL takes two optimizer steps and gives the rewards our own scoring gives (skipped without Python with trl)',
  async () => {
    await start('trl', python, ['--max_steps', '2'])
    const logged = await trlCompletions(project)
    expect(logged).toHaveLength(16)
    expect(new Set(logged.map(({ step }) => step))).toEqual(new Set([1, 2]))
    const own = await ownScores(project, logged)
    // TRL holds them as 32-bit floats.
    const rounded = own.map(({ parts }) =>
      Object.fromEntries(
        Object.entries(parts).map(([name, value]) => [name, Math.fround(value ?? Number.NaN)]),
      ),
    )
    expect(logged.map(({ rewards }) => rewards)).toEqual(rounded)
  },
)

test.skipIf(!hasAgilerl)(
  'AgileRL takes two steps and gives the rewards our own scoring gives (skipped without Python with agilerl)',
  async () => {
    await start('agilerl', agilerlPython, ['--steps', '2'])
    const logged = agilerlCompletions(project)
    expect(logged).toHaveLength(16)
    const own = await ownScores(project, logged)
    expect(logged.map(({ rewards }) => rewards['total'])).toEqual(
      own.map(({ total }) => Math.fround(total ?? 0)),
    )
  },
)
