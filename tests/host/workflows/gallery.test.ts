/** The workflows of the gallery on the starter model, beside what is built in. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { TrajectorySample } from '#shared/events.ts'
import { unpackFloats } from '#shared/packedArray.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { openSandbox } from '#host/sandbox/sandbox.ts'
import type { RunFolder } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { casesOf, eachOf, isWhole, wholeTitle } from '../../sweeps.ts'
import { createHome, historyOf, learnedBy, starterConfig, tensorsOf } from '../runs/runFixture.ts'

const home = createHome()
afterAll(() => home[Symbol.dispose]())

const steps = casesOf(2, 4)
const short = {
  ...starterConfig,
  steps,
  evaluation: { every: 2, rows: 4 },
  checkpoints: { every: 0 },
  device: { threads: 1 },
  shownTrajectories: 64,
}
const gallery = path.join(resourcesDirectory, 'workflows')

async function train(
  settings: Readonly<Record<string, unknown>>,
  workflow: string | null,
): Promise<RunFolder> {
  const file = workflow && path.join(gallery, `${workflow}.ts`)
  const rollout = {
    ...short.rollout,
    ...(settings['rollout'] as object),
    workflow: file && { function: file },
  }
  const run = home.createRun(parseRunConfig({ ...short, ...settings, rollout }))
  const cacheDirectory = path.join(home.directory, 'cache')
  const request = { runDirectory: run.directory, cacheDirectory, resumeFrom: null }
  for await (const _ of runTraining(request, createControl()));
  return run
}

const samplesOf = (run: RunFolder) =>
  historyOf(run, 'samples').flatMap(({ samples }) => samples as TrajectorySample[])

const failuresOf = (run: RunFolder) => samplesOf(run).flatMap(({ failures = [] }) => failures)

/** Tokens, masks and rewards of every trajectory that is shown. */
const trajectoriesOf = (run: RunFolder) =>
  samplesOf(run).map(({ prompt, completion, reward, advantage, arrays }) => {
    const { ids, actionMask, logprobs, advantages } = arrays ?? {}
    return { prompt, completion, reward, advantage, ids, actionMask, logprobs, advantages }
  })

/** As the sampler recorded them: which rows shared a pass shows in the last digits. */
function largestGap(own: RunFolder, built: RunFolder): number {
  const recorded = (run: RunFolder) =>
    samplesOf(run).flatMap(({ arrays }) => [...unpackFloats(arrays?.behaviorLogprobs ?? '')])
  const [mine, others] = [recorded(own), recorded(built)]
  expect(mine).toHaveLength(others.length)
  return mine.reduce((most, value, i) => Math.max(most, Math.abs(value - others[i]!)), 0)
}

const metricsOf = (run: RunFolder) =>
  historyOf(run, 'step').map(({ metrics }) => metrics as Record<string, number>)

/** Sums to add, and a further one after every wrong answer: episodes of different lengths. */
const countingGame = `
const sum = (random, most) => [Math.floor(random() * most), Math.floor(random() * most)]
export default {
  reset({ random }) {
    const [a, b] = sum(random, 50)
    return { state: { sum: a + b, turn: 0 }, observation: 'What is ' + a + ' plus ' + b + '?' }
  },
  step({ state, action, random, log }) {
    const turn = state.turn + 1
    log.metric('turn', turn)
    if (action.includes(String(state.sum)) || action.length % 3 === 0) return { state, reward: 1 / turn, terminated: true }
    const [a, b] = sum(random, 9)
    return { state: { sum: a + b, turn }, observation: 'Add ' + a + ' and ' + b, reward: -0.1, terminated: false }
  },
}`

/** Without the metrics that only a workflow has. */
const withoutWorkflow = (events: readonly unknown[]) =>
  events.map((event) => {
    const { metrics, ...rest } = event as { metrics: [string, unknown][] }
    return { ...rest, metrics: metrics.filter(([name]) => !name.startsWith('workflow/')) }
  })

describe('the same run as what is built in', () => {
  test('single turn', async () => {
    const [built, own] = [await train({}, null), await train({}, 'single-turn')]
    expect(failuresOf(own)).toEqual([])
    expect(withoutWorkflow(learnedBy(own))).toEqual(learnedBy(built))
    expect(tensorsOf(own, steps)).toEqual(tensorsOf(built, steps))
  })

  test.runIf(isWhole)(wholeTitle('the greedy baseline of ReMax'), async () => {
    const settings = { algorithm: { id: 'remax' }, rollout: { groupSize: 2, promptsPerStep: 6 } }
    const [built, own] = [await train(settings, null), await train(settings, 'greedy-baseline')]
    expect(failuresOf(own)).toEqual([])
    expect(trajectoriesOf(own)).toEqual(trajectoriesOf(built))
    expect(largestGap(own, built)).toBeLessThan(5e-5)
    metricsOf(own).forEach((metrics, i) =>
      expect(metrics['reward/greedy_baseline']).toBeCloseTo(
        metricsOf(built)[i]!['reward/greedy_baseline']!,
        12,
      ),
    )
    expect(tensorsOf(own, steps)).toEqual(tensorsOf(built, steps))
  })

  const isAlways = (id: string) => id === 'grpo'
  eachOf(test, { rows: ['grpo', 'ppo'], isAlways }, 'an environment, learned from by %s', async (id) => {
    const file = path.join(home.directory, 'game.js')
    writeFileSync(file, countingGame)
    const settings = {
      algorithm: { id },
      environment: { function: file, maxTurns: 4 },
      rewards: [],
      rollout: { groupSize: 4, promptsPerStep: 4, maxNewTokens: 5 },
    }
    const [built, own] = [await train(settings, null), await train(settings, 'environment')]
    expect(failuresOf(own)).toEqual([])
    expect(metricsOf(built)[0]?.['environment/turns']).toBeGreaterThan(1)
    expect(trajectoriesOf(own)).toEqual(trajectoriesOf(built))
    expect(largestGap(own, built)).toBeLessThan(5e-5)
    expect(tensorsOf(own, steps)).toEqual(tensorsOf(built, steps))
  })
})

/** The starter as it is answers in words, or wrongly, often enough for every branch. */
describe('the others of the gallery run', () => {
  const { workflows } = JSON.parse(readFileSync(path.join(gallery, 'manifest.json'), 'utf8')) as {
    readonly workflows: readonly { readonly id: string; readonly file: string }[]
  }

  test('and the manifest names every file', () => {
    const files = readdirSync(gallery).filter((name) => name.endsWith('.ts'))
    expect(workflows.map(({ file }) => file).sort()).toEqual(files.sort())
    expect(workflows.every(({ id, file }) => file === `${id}.ts`)).toBe(true)
  })

  const trained = [
    ['self-correction', 'grpo', { 'logged/attempts': [1, 3] }],
    ['best-of-n', 'remax', { 'logged/mean': [0, 1] }],
    ['tree', 'grpo', {}],
    ['calculator', 'grpo', { 'logged/calls': [0, 4] }],
  ] as const
  const isAlways = ([id]: (typeof trained)[number]) => id === 'calculator' // which asks most of a sandbox
  eachOf(test, { rows: trained, isAlways }, '%s', async (id, algorithm, expected) => {
    const settings = { steps: 2, algorithm: { id: algorithm }, rollout: { groupSize: 4, promptsPerStep: 6 } }
    const run = await train(settings, id)
    expect(failuresOf(run)).toEqual([])
    for (const metrics of metricsOf(run)) {
      expect(metrics['reward/unscored']).toBe(0)
      for (const [name, [least, most]] of Object.entries<readonly [number, number]>(expected)) {
        expect(metrics[name]).toBeGreaterThanOrEqual(least)
        expect(metrics[name]).toBeLessThanOrEqual(most)
      }
    }
    const learned = metricsOf(run).reduce((sum, metrics) => sum + (metrics['update/count'] ?? 0), 0)
    expect(learned).toBeGreaterThan(0)
  })

  test('the calculator computes what it is asked for, and its results are no actions', async () => {
    await using sandbox = await openSandbox({
      code: readFileSync(path.join(gallery, 'calculator.ts'), 'utf8'),
      language: 'ts',
    })
    const completion = (text: string, ids: number[], finishReason = 'stop') => ({
      isList: false,
      completions: [{ text, ids, logprobs: ids.map(() => -1), version: 0, finishReason }],
    })
    const script = [
      completion('12 times 3 is <calc>12*3', [5, 6]),
      completion('so 36.', [9]),
      [{ total: 1, parts: { right: 1 }, failures: [] }],
    ]
    const [asked, answers]: [string[], unknown[]] = [[], []]
    const textAnswers: Record<string, unknown> = {}
    const next = async () => {
      const [step] = await sandbox.episode([{ ...opening, asked, answers, textAnswers }])
      if (step === undefined || !('asksText' in step)) return step
      expect(step.asksText.ask).toEqual({ kind: 'encode', text: '=36 ' })
      textAnswers[step.asksText.text] = [7, 8]
      return (await sandbox.episode([{ ...opening, asked, answers, textAnswers }]))[0]
    }
    for (const answer of script) {
      const step = await next()
      if (step === undefined || !('requests' in step)) throw new Error(JSON.stringify(step))
      asked.push(...step.requests.map(({ text }) => text))
      answers.push(answer)
    }
    expect(JSON.parse(asked[1]!)).toMatchObject({ ids: [1, 2, 5, 6, 7, 8] })
    expect(JSON.parse(asked[2]!)).toEqual({
      kind: 'rewards',
      of: [{ completion: '12 times 3 is <calc>12*3</calc>=36 so 36.' }],
    })
    const [end] = await sandbox.episode([{ ...opening, asked, answers, textAnswers }])
    expect(end).toMatchObject({
      trajectories: [
        {
          ids: [1, 2, 5, 6, 7, 8, 9],
          actions: [
            [2, 4],
            [6, 7],
          ],
          reward: { total: 1 },
        },
      ],
      metrics: { calls: 1 },
    })
  })
})

const opening = {
  row: {},
  prompt: { text: 'ab', ids: [1, 2] },
  environment: null,
  isEvaluation: false,
  seed: 1,
}
