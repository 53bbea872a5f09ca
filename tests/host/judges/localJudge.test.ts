/** The starter model as a judge: it says digits of the digits that it is asked about. */
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { judgeLogName } from '#host/judges/judgeLog.ts'
import { RunJudges } from '#host/judges/runJudges.ts'
import { encodeQuestion, openText } from '#host/models/completing.ts'
import { openModel } from '#host/models/openModel.ts'
import { scoreSequences } from '#host/models/scoring.ts'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import type { RewardInput, Valued } from '#rl/rewards.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { createHome, historyOf, learnedBy, starterConfig, tensorsOf } from '../runs/runFixture.ts'

const all = temporaryFolder()
const cacheDirectory = path.join(all, 'cache')
const { model } = starterConfig

const starterJudge = {
  model,
  question: 'Largest of {completion}',
  scoreAfter: '',
  min: 0,
  max: 9,
  maxNewTokens: 8,
}

const input = (completion: string): RewardInput => ({ prompt: '', completion, row: {}, step: 0 })
const newFolder = () => mkdtempSync(path.join(all, 'run-'))

async function judged(folder: string | null, inputs: readonly RewardInput[], changes = {}) {
  await using judges = new RunJudges({ folder, cacheDirectory })
  const answers = (await judges.open('judge', { ...starterJudge, ...changes }).score(inputs)) as Valued[]
  return { answers, metrics: judges.takeMetrics() }
}

describe('a judge on this machine', () => {
  test('gives the expected score of its own probabilities', async () => {
    const { answers } = await judged(null, ['3 8 5', '1 2 9', '4 4 4'].map(input))
    using opened = await openModel({
      directory: model,
      adapter: null,
      device: { kind: 'cpu', threads: 1 },
      precision: 'f32',
      base: null,
      maxRows: 1,
      cacheDirectory,
    })
    const text = openText(opened.folder)
    for (const [i, completion] of ['3 8 5', '1 2 9', '4 4 4'].entries()) {
      const said = String(answers[i]!.columns!['judge.answer'])
      const at = said.search(/\d(?=\D*$)/)
      if (at === -1) {
        expect(answers[i]!.value).toBeNull()
        continue
      }
      const content = `Largest of ${completion}`
      const prompt = encodeQuestion({ messages: [{ role: 'user', content }] }, text)
      // The probability of every digit in place of the one that was said, by whole forward passes.
      const continued = Array.from({ length: 10 }, (_, digit) =>
        text.tokenizer.encode(said.slice(0, at) + String(digit), { addSpecialTokens: false }),
      )
      const sequences = continued.map((ids) => Int32Array.from([...prompt, ...ids]))
      const { logprobs } = await scoreSequences(opened, { sequences, temperature: 1, coefficients: null })
      const odds = logprobs.map((own) => Math.exp(own.at(-1)!))
      const mass = odds.reduce((sum, each) => sum + each, 0)
      const expected = odds.reduce((sum, each, digit) => sum + each * digit, 0) / mass
      // Digits that are not among the 20 most probable tokens together have less than a thousandth.
      expect(answers[i]!.value).toBeCloseTo(expected / 9, 3)
    }
    expect(answers.filter(({ value }) => value !== null).length).toBeGreaterThan(1)
  })

  test('is asked the same once, also by the next process', async () => {
    const folder = newFolder()
    const inputs = ['3 8 5', '2 6 1', '3 8 5'].map(input)
    const first = await judged(folder, inputs)
    expect(first.metrics['judge/cached_ratio']).toBeCloseTo(1 / 3)
    expect(first.metrics['judge/tokens']).toBeGreaterThan(10)
    const again = await judged(folder, [...inputs, input('7 1 1')])
    expect(again.answers.slice(0, 3)).toEqual(first.answers)
    expect(again.metrics['judge/cached_ratio']).toBe(0.75)
    const { metrics } = await judged(folder, inputs, { read: 'parsed' })
    expect(metrics['judge/cached_ratio']).toBeCloseTo(1 / 3)
  })

  test('samples what depends on the question alone', async () => {
    const hot = { temperature: 2, read: 'parsed' }
    const completions = ['3 8 5', '2 6 1', '9 9 8', '1 2 3']
    const together = await judged(null, completions.map(input), hot)
    const alone = await judged(null, [input('9 9 8')], hot)
    expect(alone.answers[0]).toEqual(together.answers[2])
  })

  test('that cannot read a completion fails for that one', async () => {
    const { answers } = await judged(null, [input('3 8 5'), input('1 '.repeat(200))])
    expect(answers[0]).toHaveProperty('value')
    expect(answers[1]).toMatchObject({
      failure: { message: expect.stringMatching(/cannot be read by the judge/) as string },
    })
  })
})

describe('a run with a judge', () => {
  using home = createHome()
  const config = () =>
    parseRunConfig({
      ...starterConfig,
      rewards: [{ function: 'judge', name: 'grader', settings: starterJudge }],
      evaluation: { every: 0, rows: 2 },
      checkpoints: { every: 1, keepLast: 20 },
      device: { threads: 1 },
      steps: 3,
    })
  const trainRun = async ({ directory }: RunFolder, resumeFrom: string | null = null) => {
    for await (const _ of runTraining(
      { runDirectory: directory, cacheDirectory, resumeFrom },
      createControl(),
    ));
  }
  const withoutCounts = (run: RunFolder) =>
    JSON.parse(JSON.stringify(learnedBy(run)), (_, value: unknown) =>
      Array.isArray(value) && /^judge\//.test(String(value[0])) ? null : value,
    ) as unknown
  const logOf = ({ directory }: RunFolder) => path.join(directory, judgeLogName)

  test('goes on with the same rewards, whatever was lost', async () => {
    const whole = home.createRun(config())
    await trainRun(whole)
    const steps = historyOf(whole, 'step').map(({ metrics }) => metrics as Record<string, number>)
    for (const metrics of steps) {
      expect(metrics['judge/tokens']).toBeGreaterThan(0)
      expect(metrics['rewards/grader/mean']).toBe(metrics['reward'])
    }
    const samples = historyOf(whole, 'samples').flatMap((event) => event['samples'] as { logged?: object }[])
    expect(samples[0]?.logged).toMatchObject({ 'grader.answer': expect.any(String) as string })
    const first = path.join(runPaths(whole.directory).checkpoints, 'step-000001')
    const [before, tensors] = [withoutCounts(whole), tensorsOf(whole, 3)]
    // Killed while the last answers were written: they are asked for again, in the same batch.
    const lines = readFileSync(logOf(whole))
    truncateSync(logOf(whole), lines.length - 20)
    await trainRun(whole, first)
    expect(readFileSync(logOf(whole))).toEqual(lines)
    expect([withoutCounts(whole), tensorsOf(whole, 3)]).toEqual([before, tensors])
    rmSync(logOf(whole))
    await trainRun(whole, first)
    expect([withoutCounts(whole), tensorsOf(whole, 3)]).toEqual([before, tensors])
  })
})
