import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  requireKnownEnvironment,
  requireWorkingEnvironment,
  resolveEnvironment,
} from '#host/code/resolveEnvironment.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { play } from '../../rl/environments/play.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-environment-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})

const quiet = {
  cacheDirectory: path.join(folder, 'cache'),
  onRequest() {
    throw new Error('No other machine may be asked.')
  },
}

const configOf = (environment: object) =>
  parseRunConfig({ model: 'm', data: { train: { episodes: 4 } }, environment })

const doubling = `
export const settings = { start: 2, maxTurns: 3 }
export default {
  reset({ settings, row }) {
    return { state: { value: row.start ?? settings.start }, observation: 'double ' + (row.start ?? settings.start) }
  },
  step({ state, action, log }) {
    if (action === 'boom') throw new Error('too loud')
    const isRight = Number(action) === 2 * state.value
    log.metric('correct', isRight ? 1 : 0)
    return { state: { value: Number(action) }, observation: 'double ' + action, reward: isRight ? 1 : -1, done: !isRight }
  },
}
`

describe('environment code', () => {
  test('is an environment like any other', async () => {
    const file = path.join(folder, 'doubling.js')
    writeFileSync(file, doubling)
    await using world = await resolveEnvironment(
      configOf({ function: file, settings: { start: 3 } }),
      folder,
      quiet,
    )
    const environment = world.environment!
    expect(environment.maxTurns).toBe(3)
    const played = await play(environment, { actions: ['6', '12', '13'] })
    expect(played).toMatchObject({
      observations: ['double 3', 'double 6', 'double 12', 'double 13'],
      terminated: true,
    })
    expect(played.rewards).toEqual([1, 1, -1])
    expect(played.last.metrics).toEqual({ correct: 0 })
    const broken = await environment.step([
      { row: {}, seed: 1, state: { value: 1 }, action: 'boom' },
      { row: {}, seed: 1, state: { value: 1 }, action: '2' },
    ])
    expect(broken).toMatchObject([{ failure: { message: 'Error: too loud', line: 8 } }, { reward: 1 }])
  })

  test('is copied into the run, which goes on with its copy', async () => {
    const [file, run] = [path.join(folder, 'changing.js'), mkdtempSync(path.join(folder, 'run-'))]
    const opening = async () => {
      await using world = await resolveEnvironment(configOf({ function: file }), run, quiet)
      return (await play(world.environment!, { actions: [] })).observations[0]
    }
    writeFileSync(file, doubling)
    expect(await opening()).toBe('double 2')
    writeFileSync(file, doubling.replaceAll('double', 'triple'))
    expect(await opening()).toBe('double 2')
  })

  test('that is a reward function is refused', async () => {
    const file = path.join(folder, 'reward.js')
    writeFileSync(file, 'export default () => 1')
    const run = mkdtempSync(path.join(folder, 'run-'))
    await expect(resolveEnvironment(configOf({ function: file }), run, quiet)).rejects.toThrow(
      'not an environment',
    )
  })
})

test('settings come from the rows where the run says so', async () => {
  const file = path.join(folder, 'swept.js')
  writeFileSync(file, doubling)
  const run = mkdtempSync(path.join(folder, 'run-'))
  const entry = {
    function: file,
    settings: { maxTurns: 5 },
    settingsFromRow: { start: 'from', maxTurns: 'turns' },
  }
  await using world = await resolveEnvironment(configOf(entry), run, quiet)
  const { environment } = world
  const answers = await environment!.reset([
    { row: { from: 7, turns: 2 }, seed: 1 },
    { row: { from: '9', turns: 1 }, seed: 1 },
  ])
  expect(answers).toMatchObject([{ observation: 'double 7' }, { observation: 'double 9' }])
  expect([environment!.maxTurns, environment!.turnsOf!({ from: 7, turns: 2 })]).toEqual([5, 2])
  const misspelt = configOf({ ...entry, settingsFromRow: { begin: 'from' } })
  await expect(resolveEnvironment(misspelt, run, quiet)).rejects.toThrow('has no setting “begin”')
  await expect(requireWorkingEnvironment(misspelt, run)).rejects.toThrow('has no setting “begin”')
  const builtIn = (settingsFromRow: object) =>
    configOf({ function: 'number-guessing', settingsFromRow }).environment!
  expect(() => requireKnownEnvironment(builtIn({ guesses: 'tries' }))).not.toThrow()
  expect(() => requireKnownEnvironment(builtIn({ tries: 'guesses' }))).toThrow('has no setting “tries”')
})

test('a run without an environment has none', async () => {
  const config = parseRunConfig({ model: 'm', data: { train: 'x' }, rewards: [{ function: 'a' }] })
  await using world = await resolveEnvironment(config, folder, quiet)
  expect(world.environment).toBeNull()
})
