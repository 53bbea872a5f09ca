import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { resolveEnvironment } from '#host/code/resolveEnvironment.ts'
import type { Environment, EnvironmentTurn } from '#rl/rollout/environment.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { consentsTo, hasPython, interpreter } from './interpreter.ts'

const all = temporaryFolder()
const here = hasPython()
const hasGymnasium = hasPython('gymnasium')
const place = { cacheDirectory: path.join(all, 'cache'), onRequest: () => {} }

function fileOf(code: string): string {
  const file = path.join(mkdtempSync(path.join(all, 'one-')), 'world.py')
  writeFileSync(file, code)
  return file
}

function open(id: string, settings: object = {}, python: object = {}) {
  const config = parseRunConfig({
    model: 'm',
    data: { train: { episodes: 4 } },
    environment: { function: id, settings },
    python: { interpreter, ...python },
  })
  const consents = consentsTo(config, all)
  return resolveEnvironment(config, mkdtempSync(path.join(all, 'run-')), { ...place, consents })
}

const guessing = `
import os
import random
import time

class Guess:
    max_turns = 5

    def __init__(self, most=100):
        self.most = most

    def reset(self, *, seed=None, options=None):
        self.random = random.Random(seed)
        self.hidden = options.get("hidden", self.random.randint(1, self.most))
        self.turns = 0
        return f"A number from 1 to {self.most}", {}

    def step(self, action):
        self.turns += 1
        if action == "die":
            os._exit(9)
        if action == "hang":
            time.sleep(60)
        guess = int(action)
        right = guess == self.hidden
        word = "Right." if right else "Higher." if guess < self.hidden else "Lower."
        info = {"correct": right, "guess": guess, "comment": f"turn {self.turns}"}
        return f"{word} {self.random.random()}", 1.0 if right else -0.25, right, self.turns == 4, info
`

const start = { row: { hidden: 40 }, seed: 11 }
const turnOf = (answers: Awaited<ReturnType<Environment['step']>>): EnvironmentTurn => {
  const [answer] = answers
  if (answer === undefined || 'failure' in answer) throw new Error(JSON.stringify(answer))
  return answer
}

/** Steps from a state, one after the other. */
async function walk(
  world: Environment,
  from: unknown,
  actions: readonly string[],
): Promise<EnvironmentTurn[]> {
  const turns: EnvironmentTurn[] = []
  let state = from
  for (const [i, action] of actions.entries()) {
    const turn = turnOf(await world.step([{ ...start, seed: i, state, action }]))
    turns.push(turn)
    state = turn.state
  }
  return turns
}

describe.skipIf(!here)('environments as Gymnasium has them (skipped without Python 3.9)', () => {
  test('a class is played: seed, row as options, rewards, terminated, truncated, info', async () => {
    await using opened = await open(`${fileOf(guessing)}#Guess`, { most: 50 })
    const world = opened.environment!
    expect(world.maxTurns).toBe(5)
    const first = turnOf(await world.reset([start]))
    expect(first).toMatchObject({ observation: 'A number from 1 to 50', reward: null, terminated: false })
    const turns = await walk(world, first.state, ['20', '60', '40'])
    expect(turns.map(({ reward, terminated }) => [reward, terminated])).toEqual([
      [-0.25, false],
      [-0.25, false],
      [1, true],
    ])
    expect(turns[1]?.observation).toMatch(/^Lower\. 0\.\d+$/)
    expect(turns[2]).toMatchObject({ metrics: { correct: 1, guess: 40 }, columns: { comment: 'turn 3' } })
    const late = await walk(world, turnOf(await world.reset([start])).state, ['1', '2', '3', '4'])
    expect(late.at(-1)).toMatchObject({ terminated: false, truncated: true })
  })

  test('many episodes are played at once, each with its own world, also from the same place twice', async () => {
    await using opened = await open(fileOf(guessing))
    const world = opened.environment!
    const starts = Array.from({ length: 100 }, (_, i) => ({ row: { hidden: i }, seed: i }))
    const states = (await world.reset(starts)).map((answer) => turnOf([answer]).state)
    const answers = await world.step(states.map((state, i) => ({ ...starts[i]!, state, action: String(i) })))
    expect(answers.map((answer) => turnOf([answer]).reward)).toEqual(starts.map(() => 1))
    const fork = turnOf(await world.reset([start])).state
    const [one] = await walk(world, fork, ['20', '30'])
    const [two] = await walk(world, fork, ['20', '60'])
    expect(two?.observation).toBe(one?.observation)
  })

  test('an episode goes on where it was after the process has died', async () => {
    await using opened = await open(fileOf(guessing), {}, { callSeconds: 0.5 })
    const world = opened.environment!
    const undisturbed = await walk(world, turnOf(await world.reset([start])).state, ['20', '60', '30', '40'])
    const first = turnOf(await world.reset([start])).state
    const [turn] = await walk(world, first, ['20'])
    for (const [action, sentence] of [
      ['die', /Python exited \(exit code 9\)/],
      ['hang', /did nothing for 5 s/],
    ] as const) {
      const [bad, good] = await world.step([
        { ...start, state: turn!.state, action },
        { ...start, state: turn!.state, action: '60' },
      ])
      expect(bad).toMatchObject({ failure: { message: expect.stringMatching(sentence) as string } })
      expect(turnOf([good!])).toMatchObject({ observation: undisturbed[1]?.observation })
    }
  })

  test('an environment that answers differently when it is played again says so', async () => {
    const chance = guessing.replace('random.Random(seed)', 'random.Random()')
    await using opened = await open(fileOf(chance))
    const world = opened.environment!
    const [turn] = await walk(world, turnOf(await world.reset([start])).state, ['20'])
    const [, again] = await world.step([
      { ...start, state: turn!.state, action: 'die' },
      { ...start, state: turn!.state, action: '60' },
    ])
    expect(again).toMatchObject({
      failure: { message: expect.stringMatching(/^The episode cannot go on: played again/) as string },
    })
  })

  test.each([
    ['return "text"', 'reset must return (observation, info), got str.'],
    ['return "a", {}, 1', 'reset must return (observation, info), got a tuple of 3.'],
    ['raise ValueError("no")', 'ValueError: no'],
  ])('a reset with %s is told what it must return', async (line, message) => {
    const file = fileOf(
      `class W:\n    def reset(self, seed=None):\n        ${line}\n    def step(self, action): pass`,
    )
    await using opened = await open(file)
    const [answer] = await opened.environment!.reset([start])
    expect(answer).toMatchObject({ failure: { message } })
  })

  test('a step of another form is told the right one', async () => {
    const code = `class W:\n    def reset(self, seed=None): return "", {}\n    def step(self, action): return "", 1.0, True, {}`
    await using opened = await open(fileOf(code))
    const { state } = turnOf(await opened.environment!.reset([start]))
    const [answer] = await opened.environment!.step([{ ...start, state, action: '' }])
    const message = 'step must return (observation, reward, terminated, truncated, info), got a tuple of 4.'
    expect(answer).toMatchObject({ failure: { message, line: null } })
  })

  test('what makes no environment is refused when it is opened', async () => {
    await expect(open(`${fileOf(guessing)}#Gone`)).rejects.toThrow('The file has no “Gone”.')
    await expect(open(fileOf('def f(completions): pass'))).rejects.toThrow('Name the class or function')
    await expect(open(fileOf('def make():\n    return 3'))).rejects.toThrow('int has no reset and step.')
  })
})

test.skipIf(!hasGymnasium)(
  'an environment registered with Gymnasium is played by its id (skipped without Python with gymnasium)',
  async () => {
    await using opened = await open('gymnasium:FrozenLake-v1', { is_slippery: false })
    const world = opened.environment!
    expect(world.maxTurns).toBe(100)
    const turns = await walk(world, turnOf(await world.reset([start])).state, [
      'no idea',
      'Down: 1',
      '1',
      '2',
      '1',
      '2',
      '2',
    ])
    expect(turns.map(({ observation }) => observation)).toEqual([
      'The action must be a whole number from 0 to 3.',
      ...['4', '8', '9', '13', '14', '15'],
    ])
    expect(turns.at(-1)).toMatchObject({ reward: 1, terminated: true })
    await expect(open('gymnasium:NoSuchWorld-v0')).rejects.toThrow(/NameNotFound/)
  },
)

test.skipIf(!here)(
  'Python ends with its host, and so does what it started (skipped without Python 3.9)',
  async () => {
    const code = `
import subprocess

child = subprocess.Popen(["sleep", "611"])

def f(completions):
    print(child.pid)
    while True:
        pass
`
    const file = fileOf(code)
    const model = { model: 'm', data: { train: 't' }, python: { interpreter } }
    const consents = consentsTo(parseRunConfig({ ...model, rewards: [{ function: file }] }), all)
    const script = `
    import { requireConsent } from '#host/python/consent.ts'
    import { PythonProcess } from '#host/python/pythonProcess.ts'
    const code = ${JSON.stringify(code)}
    const source = { code, language: 'py', file: ${JSON.stringify(file)} }
    const allowed = requireConsent(source, ${JSON.stringify(interpreter)}, ${JSON.stringify(consents)})
    const python = await PythonProcess.start(allowed.interpreter)
    await python.ask({ call: 'load', code, file: ${JSON.stringify(file)}, modules: allowed.modules }, 1, 10_000)
    void python.ask({ call: 'score', name: 'f', inputs: [{ row: {}, prompt: '', completion: '', step: 0, ids: null }] }, 1, 600_000)
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500)`
    const own = () =>
      execFileSync('sh', ['-c', 'pgrep -f "sleep [6]11" || true'], { encoding: 'utf8' }).trim()
    expect(own()).toBe('')
    expect(() =>
      execFileSync(process.execPath, ['--input-type=module-typescript', '-e', script], { stdio: 'pipe' }),
    ).toThrow(expect.objectContaining({ signal: 'SIGKILL' }) as Error)
    await expect.poll(own).toBe('')
  },
)
