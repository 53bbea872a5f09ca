import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { readDataSet } from '#host/data/readDataSet.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { readThroughput, rememberThroughput } from '#host/devices/deviceRecords.ts'
import { summarizeCalibration } from '#host/jobs/calibration.ts'
import type { CalibratedStage } from '#host/jobs/calibrationReport.ts'
import { eventually } from '../../eventually.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'
import { collect, createHostFixture, smallConfig, type Config } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client, directory } = fixture

const cpu = { kind: 'cpu', deviceId: 0 } as const
const { cache } = dataFolders(directory)

/** Folders that a check tries in. */
const triedIn = (): readonly string[] =>
  readdirSync(dataFolders(directory).cache).filter((name) => name.startsWith('.calibration'))

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

type Item = OutputOf<Api, 'runs.calibrate'>
type Result = Extract<Item, { readonly result: unknown }>['result']

async function calibrate(changes: object): Promise<{ readonly phases: string[]; readonly result: Result }> {
  const config = { ...smallConfig, ...changes } as Config
  const items = await collect(client.stream('runs.calibrate', { config }))
  const last = items.at(-1)
  if (last === undefined || !('result' in last)) throw new Error('Expected a result at the end.')
  const phases = items.flatMap((item) => ('progress' in item ? [item.progress.phase] : []))
  return { phases: [...new Set(phases)], result: last.result }
}

describe('one group of a real step', () => {
  test('is of the longest row and tells time, memory and disk; no run comes of it', async () => {
    const { phases, result } = await calibrate({})
    expect(phases).toEqual(['Loading', 'Generating', 'Scoring', 'Learning'])
    expect(triedIn()).toEqual([])
    const rows = await readDataSet(path.join(resourcesDirectory, 'demo', 'train.jsonl'))
    expect(result.samples).toHaveLength(4)
    expect(result.samples[0]?.prompt).toContain(String(rows[result.longest.row]?.['prompt']))
    expect(result.samples.map(({ reward }) => reward)).toEqual(
      result.samples.map(({ parts }) => 0.8 * (parts['correct'] ?? 0) + 0.2 * (parts['format'] ?? 0)),
    )
    const { seconds, memory, etaSeconds } = result
    for (const value of Object.values(seconds)) expect(value).toBeGreaterThan(0)
    // The starter model alone takes some megabytes, the runtime a hundred.
    expect(memory.anonymousBytes).toBeGreaterThan(50e6)
    expect(memory.totalBytes).toBeGreaterThanOrEqual(memory.anonymousBytes)
    expect(memory.expectedBytes).toBeGreaterThanOrEqual(memory.anonymousBytes)
    expect(memory.availableBytes).toBeGreaterThan(memory.anonymousBytes)
    expect(result).toMatchObject({ steps: 4, evaluations: 3 })
    expect(etaSeconds.low).toBeLessThan(etaSeconds.expected)
    expect(etaSeconds.expected).toBeLessThan(etaSeconds.high)
    expect(result.secondsPerCheckpoint).toBeGreaterThan(0)
    const parts = [
      4 * result.secondsPerStep,
      3 * result.secondsPerEvaluation,
      result.checkpoints * result.secondsPerCheckpoint,
    ]
    expect(etaSeconds.expected).toBeCloseTo(
      parts.reduce((a, b) => a + b, 0),
      6,
    )
    expect(result.disk.neededBytes).toBeGreaterThan(result.checkpointBytes)
    expect(await client.call('runs.list', {})).toEqual([])
    expect(existsSync(dataFolders(fixture.directory).runs)).toBe(false)
  })

  test.runIf(isWhole)(
    wholeTitle('a base in fewer bits is measured beside an exact one, once for each machine'),
    async () => {
      const comparing = 'Comparing with an exact base'
      const base = { precision: 'int8' }
      expect((await calibrate({ base })).phases).toContain(comparing)
      const measured = readThroughput(cpu, cache)
      expect(measured?.rates.map(({ precision }) => precision)).toEqual(['f32', 'int8', 'int4'])
      expect((await calibrate({ base })).phases).not.toContain(comparing)
      expect(readThroughput(cpu, cache)).toEqual(measured)
    },
  )

  test('a base in fewer bits that was measured to be slower is warned of, by the check of settings too', async () => {
    const rate = (precision: 'f32' | 'int8', speed: number) => ({
      precision,
      generating: speed,
      learning: 10 * speed,
    })
    const warnings = async (precision: 'f32' | 'int8', speed: number) => {
      const rates = [rate('f32', 1e9), rate('int8', speed)]
      rememberThroughput(cpu, cache, { at: 1, parameters: 1e6, rates })
      const config = { ...smallConfig, base: { precision } } as Config
      const checked = await client.call('runs.check', { config })
      if (!('warnings' in checked)) throw new Error('Expected a config that fits.')
      return checked.warnings.filter(({ path: at }) => at === 'base.precision').map(({ message }) => message)
    }
    expect(await warnings('int8', 0.8e9)).toEqual([expect.stringContaining('takes about 1.3 times as long')])
    expect(await warnings('int8', 1.5e9)).toEqual([])
    expect(await warnings('f32', 0.8e9)).toEqual([])
  })

  test('takes as much for a checkpoint as a run does', async () => {
    const { result } = await calibrate({ steps: 1 })
    const runId = await fixture.start({ steps: 1, evaluation: { every: 0, rows: 1 } })
    await fixture.reached(runId, 'finished')
    // A run beside them would be warned of in the next tests.
    await fixture.left()
    const [saved] = await client.call('checkpoints.list', { runId })
    const ratio = result.checkpointBytes / (saved?.sizeBytes ?? 0)
    expect(ratio).toBeGreaterThan(0.8)
    expect(ratio).toBeLessThanOrEqual(1)
  })

  test('says in words what is wrong with rewards and lengths', async () => {
    const file = fixture.write(
      'reward.ts',
      `export const half = () => 0.5\nexport const broken = ({ row }: any) => row.missing.length`,
    )
    const { result } = await calibrate({
      rewards: [{ function: `${file}#half` }, { function: `${file}#broken` }],
      rollout: { promptsPerStep: 2, groupSize: 4, maxNewTokens: 1 },
      data: { ...smallConfig.data, heldOut: null },
    })
    expect(result.warnings).toEqual([
      expect.stringContaining('Every completion earned 0.5') as string,
      // In backticks, so that the window shows its label.
      expect.stringContaining('truncated at the length limit: raise `rollout.maxNewTokens`') as string,
      expect.stringMatching(/failed on 4 of 4 completions. broken: .*line 2/) as string,
      expect.stringContaining('There is no validation split') as string,
    ])
    expect(result.samples[0]).toMatchObject({ reward: 0.5, stopReason: 'length', tokens: 1 })
    expect(result.seconds.learning).toBeGreaterThan(0)
  })

  test('plays episodes where the run has an environment', async () => {
    const { result } = await calibrate({
      data: { train: { episodes: 8 } },
      rewards: [],
      environment: { function: 'number-guessing', maxTurns: 3 },
    })
    expect(result.samples).toHaveLength(4)
    expect(result.samples[0]?.prompt).toContain('whole number')
    expect(Object.keys(result.samples[0]?.parts ?? {})).toEqual(['environment'])
    expect(result.longest.promptTokens).toBeGreaterThan(20)
  })

  test('learns a pair of given answers where the run does, and every stage of a chain', async () => {
    const preferences = path.join(resourcesDirectory, 'demo', 'preferences.jsonl')
    const data = { ...smallConfig.data, train: preferences, heldOut: null }
    const { result } = await calibrate({
      data,
      rewards: [],
      optimization: { minibatchSize: null },
      stages: [
        { algorithm: { id: 'sft' }, data: { completion: 'chosen' }, steps: 2 },
        { algorithm: { id: 'dpo' } },
      ],
    })
    expect(result.samples.map(({ stage, reward, preference }) => [stage, reward, preference])).toEqual([
      [0, null, null],
      [1, null, 'chosen'],
      [1, null, 'rejected'],
    ])
    const pairs = (await readDataSet(preferences)).map(({ chosen, rejected }) => [chosen, rejected])
    expect(pairs).toContainEqual(result.samples.slice(1).map(({ completion }) => completion))
    expect(result).toMatchObject({ steps: 6, evaluations: 0, secondsPerEvaluation: 0 })
    expect(result.seconds.learning).toBeGreaterThan(0)
  })

  test('fails as a run would, and can be cancelled', async () => {
    const wrong = { ...smallConfig, data: { ...smallConfig.data, prompt: { column: 'missing' } } } as Config
    await expect(collect(client.stream('runs.calibrate', { config: wrong }))).rejects.toMatchObject({
      code: 'data/invalid',
    })
    const cancelled = new AbortController()
    const items = client.stream('runs.calibrate', { config: smallConfig }, { signal: cancelled.signal })
    await expect(
      (async () => {
        for await (const _ of items) cancelled.abort()
      })(),
    ).rejects.toMatchObject({ code: 'api/cancelled' })
    await eventually(() => expect(triedIn()).toEqual([]))
    expect(fixture.faults).toEqual([])
  })
})

const triedStage: CalibratedStage = {
  steps: 100,
  row: 3,
  promptTokens: 40,
  tooLong: 0,
  needsRewards: true,
  evaluations: 2,
  secondsPerEvaluation: 10,
  seconds: { loading: 1, generating: 2, scoring: 3, learning: 4 },
  secondsPerStep: { expected: 10, low: 8, high: 15 },
  tokensPerStep: 500,
  warmUpSeconds: 1,
  checkpointBytes: 1e9,
  secondsPerCheckpoint: 4,
  logBytesPerStep: 1e6,
  samples: [],
}

function summaryOf(stage: CalibratedStage) {
  const config = parseRunConfig({ ...smallConfig, checkpoints: { every: 1, keepLast: 2, keepBest: 1 } })
  const memory = { anonymousBytes: 5e9, totalBytes: 9e9, expectedBytes: 8e9 }
  const processor = { threads: 2, cores: 2 }
  const device = { kind: 'cpu', reason: 'As the config says.' } as const
  return summarizeCalibration({
    config,
    report: { device, processor, memory, stages: [stage] },
    room: { availableBytes: 6e9, freeBytes: 2e9, runs: 1 },
  })
}

test('rewards are missed only where they are learned from', () => {
  const sample = {
    row: 0,
    sample: 0,
    prompt: '',
    completion: '4',
    tokens: 1,
    stopReason: 'stop-id',
    preference: null,
  } as const
  const samplesOf = (reward: number | null) =>
    [0, 1].map(() => ({
      ...sample,
      reward,
      parts: { correct: reward },
    })) as unknown as CalibratedStage['samples']
  const told = (changes: Partial<CalibratedStage>) =>
    summaryOf({ ...triedStage, ...changes }).warnings.filter((sentence) =>
      /reward|earned|too long/.test(sentence),
    )
  expect(told({ samples: samplesOf(null) })).toEqual([
    'No completion has a reward, so nothing would be learned.',
  ])
  expect(told({ samples: samplesOf(1) })).toEqual([
    'Every completion earned 1: a zero-variance group teaches nothing.',
  ])
  for (const reward of [null, 1])
    expect(told({ samples: samplesOf(reward), needsRewards: false })).toEqual([])
  expect(told({ tooLong: 1, teacher: 'short' })).toEqual([
    '1 row is too long for the teacher short’s context together with a completion and left out.',
  ])
})

test('what does not fit into memory or onto the disk is said before it happens', () => {
  const summary = summaryOf(triedStage)
  // The two newest, the best, and one that is being written.
  expect(summary.disk.neededBytes).toBe(4.1e9)
  expect(summary.etaSeconds).toEqual({ low: 1220, expected: 1420, high: 1920 })
  expect(summary.warnings).toEqual([
    expect.stringContaining('about 8 GB of memory, but only 6 GB were free') as string,
    expect.stringContaining('take about 4.1 GB, but only 2 GB are free') as string,
    expect.stringContaining('Another run') as string,
  ])
})
