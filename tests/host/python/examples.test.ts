/** What stands in examples/python, run as the user guide says, with the starter model. */
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { RunConfig } from '#shared/runConfig.ts'
import { readRunConfig } from '#host/runs/runConfigFile.ts'
import { eventually } from '../../eventually.ts'
import { createWorkplace, linesOf } from '../../cli/turnwise.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { hasPython, interpreter } from './interpreter.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const all = temporaryFolder()
const place = createWorkplace()
afterAll(() => place[Symbol.dispose]())
const examples = path.resolve('examples/python')

/** Trains an example for some steps; mean rewards by step, and of the evaluations. */
function train(name: string, steps: number): Promise<{ rewards: number[]; evaluated: number[] }> {
  return trainWith(name, readRunConfig(path.join(examples, name), place.path('home')), steps)
}

async function trainWith(name: string, config: RunConfig, steps: number) {
  const changed = {
    ...config,
    python: { ...config.python, interpreter },
    steps,
    checkpoints: { ...config.checkpoints, every: 0 },
    evaluation: { ...config.evaluation, every: config.environment === null ? steps : 0 },
  }
  const done = await place.run('train', place.write(name, changed), '--trust-python', '--json')
  expect(done.stderr).not.toMatch(/error|turnwise:/i)
  expect(done.status).toBe(0)
  const events = linesOf(done.stdout) as { type: string; metrics?: Record<string, number> }[]
  const rewardsOf = (type: string, metric: string) =>
    events.flatMap(({ type: own, metrics = {} }) =>
      own === type && metrics[metric] !== undefined ? [metrics[metric]] : [],
    )
  return { rewards: rewardsOf('step', 'reward'), evaluated: rewardsOf('evaluation', 'eval_reward') }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

test.runIf(isWhole && hasPython())(
  wholeTitle('the two TRL signatures teach the starter model its exercises (skipped without Python 3.9)'),
  async () => {
    const { evaluated } = await train('rewards.json', 10)
    expect(evaluated[0]).toBeLessThan(0.4)
    expect(evaluated.at(-1)).toBeGreaterThan(0.7)
  },
  300_000,
)

test.skipIf(!hasPython('gymnasium'))(
  'the Gymnasium environment is learned (skipped without Python with gymnasium)',
  async () => {
    const { rewards } = await train('gymnasium.json', 12)
    expect(mean(rewards.slice(-3))).toBeGreaterThan(mean(rewards.slice(0, 2)) + 0.1)
  },
  300_000,
)

/** A server of one text field each way, made with OpenEnv's own package; what is said longer earns more. */
const echo = `
from openenv.core.env_server import Environment, create_app
from openenv.core.env_server.types import Action, Observation, State
import uvicorn

class Said(Action):
    message: str

class Echo(Observation):
    echoed_message: str = ""

class World(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    def reset(self, seed=None, **kwargs):
        return Echo(echoed_message="Please reverse 7 2 9", done=False, reward=0.0)
    def step(self, action, **kwargs):
        return Echo(echoed_message=action.message, done=False, reward=0.1 * len(action.message))
    @property
    def state(self):
        return State(episode_id="1", step_count=0)

uvicorn.run(create_app(World, Said, Echo, max_concurrent_envs=64), port=0, log_level="info")
`

test.skipIf(!hasPython('openenv', 'uvicorn'))(
  'a server of OpenEnv is learned from (skipped without the packages openenv-core and uvicorn)',
  async () => {
    const server = spawn(interpreter, ['-c', echo], { stdio: ['ignore', 'ignore', 'pipe'] })
    try {
      let heard = ''
      server.stderr.setEncoding('utf8').on('data', (text: string) => (heard += text))
      const address = /running on (http:\S+)/
      await eventually(() => expect(heard).toMatch(address))
      const config = readRunConfig(path.join(examples, 'open-env.json'), place.path('home'))
      const environment = { ...config.environment!, settings: { url: address.exec(heard)![1]! } }
      const { rewards } = await trainWith('open-env.json', { ...config, environment }, 8)
      expect(mean(rewards.slice(-2))).toBeGreaterThan(mean(rewards.slice(0, 2)) + 0.1)
    } finally {
      server.kill()
    }
  },
  300_000,
)

describe.skipIf(!hasPython('reasoning_gym'))(
  'ReasoningGym (skipped without Python with reasoning-gym)',
  () => {
    const tasks = [
      { file: 'count-bits.json', task: 'count_bits', settings: ['max_n=60'], least: 0.4 },
      { file: 'products.json', task: 'products', settings: ['max_digits=1'], least: 0.15 },
      {
        file: 'chain-sum.json',
        task: 'chain_sum',
        settings: ['min_terms=2', 'max_terms=2', 'max_digits=1'],
        least: 0.02,
      },
    ]
    test.each(tasks)(
      '$task: rows are imported and scored by its own function, and the reward rises',
      async ({ file, task, settings, least }) => {
        const set = ['size=500', ...settings].flatMap((each) => ['--set', each])
        const args = ['dataset', 'import', `reasoning-gym:${task}`, ...set]
        const refused = await place.run(...args)
        expect(refused.status).toBe(1)
        expect(refused.stderr).toContain('turnwise python allow reasoning-gym')
        const imported = await place.run(...args, '--trust-python', interpreter)
        expect(imported.stdout).toMatch(new RegExp(`^Added “${task}”, 500 rows`))
        const { evaluated } = await train(file, 10)
        expect(evaluated.at(-1)).toBeGreaterThan(Math.max(least, evaluated[0] ?? 1))
      },
      300_000,
    )
  },
)

test.skipIf(!hasPython())(
  'rows of a function of a file are imported (skipped without Python 3.9)',
  async () => {
    const file = path.join(mkdtempSync(path.join(all, 'rows-')), 'sums.py')
    const code = `def rows(count, words="none"):\n    for i in range(count):\n        yield {"prompt": f"{i} + {i}", "answer": 2 * i, "words": words, "odd": (i % 2 == 1,)}`
    place.write(path.relative(place.folder, file), code)
    const args = [
      'dataset',
      'import',
      file,
      '--set',
      'count=3',
      '--set',
      'words=a b',
      '--trust-python',
      interpreter,
    ]
    const done = await place.run(...args, '--json')
    expect(JSON.parse(done.stdout)).toMatchObject({
      name: 'sums',
      rows: 3,
      columns: ['prompt', 'answer', 'words', 'odd'],
    })
    const broken = await place.run('dataset', 'import', `${file}#gone`, '--trust-python', interpreter)
    expect(broken.stderr).toContain('The file has no “gone”.')
  },
)
