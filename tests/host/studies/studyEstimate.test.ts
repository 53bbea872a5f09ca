import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { parseStudyConfig } from '#shared/studies.ts'
import { kilobytes } from '#engine/runtime/memory.ts'
import { wavesOf } from '#rl/studies/plan.ts'
import type { Calibrated } from '#host/jobs/calibration.ts'
import { coresAllow, sharingOf, type SharingRequest, type TrialNeeds } from '#host/studies/sharing.ts'
import { summarizeStudy } from '#host/studies/studyEstimate.ts'
import { collect, createHostFixture, smallConfig } from '../api/hostFixture.ts'

const rate = 'optimization.learningRate'
const range = { [rate]: { min: 1e-4, max: 1e-2 } }

const fixture = createHostFixture()
const { client } = fixture

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  expect(fixture.faults).toEqual([])
})

interface Tried {
  readonly config?: object
  readonly seconds?: number
  readonly ownBytes?: number
}

/** 100 steps of 2 s with an evaluation of 10 s every 20 steps, and a checkpoint of 1 s every 50. */
function tried({ config, seconds = 2, ownBytes = 1e9 }: Tried = {}): Calibrated {
  const given = { evaluation: { every: 20 }, checkpoints: { every: 50 }, device: { threads: 2 } }
  return {
    config: parseRunConfig({ ...smallConfig, ...given, ...config }),
    room: { availableBytes: 5e9, freeBytes: 1e9, runs: 0 },
    startSeconds: 3,
    card: null,
    report: {
      device: { kind: 'cpu', reason: '' },
      processor: { threads: 2, cores: 8 },
      memory: { anonymousBytes: ownBytes, totalBytes: ownBytes + 0.5e9, expectedBytes: ownBytes },
      stages: [
        {
          steps: 100,
          row: 0,
          promptTokens: 10,
          tooLong: 0,
          needsRewards: true,
          evaluations: 6,
          secondsPerEvaluation: 10,
          seconds: { loading: 3, generating: 1, scoring: 1, learning: 1 },
          secondsPerStep: { low: seconds / 2, expected: seconds, high: 2 * seconds },
          tokensPerStep: 50,
          warmUpSeconds: 1,
          checkpointBytes: 1e6,
          secondsPerCheckpoint: 1,
          logBytesPerStep: 1e4,
          samples: [],
        },
      ],
    },
  }
}

function estimated(file: object, light = tried(), heavy = light) {
  const config = parseStudyConfig({ ...smallConfig, ...file })
  const { search, parallel: given } = config
  const subject = { config, steps: 100, start: {} }
  const sharing: SharingRequest = {
    kind: search.kind,
    given,
    needs: null,
    isCpu: true,
    cores: 8,
    threads: 2,
    config: light.config,
    waves: wavesOf({ search, seed: 1, steps: 100, start: {} }),
  }
  return summarizeStudy({ ...subject, sharing }, light, heavy)
}

describe('hours', () => {
  // Start, loading and warm-up, steps, evaluations at 0, 20, …, 100, checkpoints at 50 and 100.
  const whole = 7 + 200 + 60 + 2

  test('of seeds: one after the other, or as many beside each other as train together', () => {
    expect(estimated({ parallel: 1, seeds: { values: 4 } })).toMatchObject({
      trials: 4,
      totalSteps: 400,
      parallel: 1,
      seconds: { low: 4 * (whole - 100), expected: 4 * whole, high: 4 * (whole + 200) },
    })
    expect(estimated({ seeds: { values: 4 } })).toMatchObject({ parallel: 4, seconds: { expected: whole } })
    expect(estimated({ seeds: { values: 6 } }).seconds.expected).toBe(2 * whole)
  })

  test('of a halving: only what its rungs train, each compared by an evaluation', () => {
    const sweep = {
      method: 'random',
      trials: 9,
      parameters: range,
      early: { method: 'halving', from: 10, keep: 3 },
    }
    const { seconds, totalSteps } = estimated({ parallel: 1, sweep })
    // 9 trials to step 10, 3 to 32, 1 to 100.
    expect(totalSteps).toBe(90 + 66 + 68)
    const rungs = [9 * (7 + 20 + 20 + 1), 3 * (7 + 44 + 20 + 1), 7 + 136 + 40 + 2]
    expect(seconds.expected).toBe(rungs.reduce((a, b) => a + b))
  })

  test('of a population: every generation ends with an evaluation, and a clone begins with one', () => {
    const population = { size: 3, every: 50, mutation: { parameters: range } }
    const { seconds, trials, disk } = estimated({ parallel: 1, population })
    expect(trials).toBe(3)
    expect(seconds.expected).toBe(2 * 3 * (7 + 100 + 10 + 2 * 10 + 10 + 1))
    // Clones are runs too.
    expect(disk.neededBytes).toBe(6 * (100 * 1e4 + 2 * 1e6))
  })

  test('end with the budget, which counts measured seconds and tokens', () => {
    const sweep = { method: 'random', trials: 20, parameters: range }
    expect(estimated({ sweep: { ...sweep, budget: { hours: 0.11 } } }).trials).toBe(2)
    expect(estimated({ sweep: { ...sweep, budget: { tokens: 12_000 } } }).trials).toBe(3)
    expect(estimated({ sweep: { ...sweep, budget: { steps: 1000 } } }).trials).toBe(10)
  })

  test('lie between the lightest and the heaviest trial', () => {
    const { seconds, memory } = estimated(
      { parallel: 1, seeds: { values: 2 } },
      tried(),
      tried({ seconds: 20, ownBytes: 3e9 }),
    )
    expect(seconds).toEqual({ low: 2 * (whole - 100), expected: 2 * (whole + 900), high: 2 * (whole + 3800) })
    expect(memory).toMatchObject({ ownBytes: 3e9, neededBytes: 3.5e9 })
  })

  test('grow where more trials train than there are cores for', () => {
    const { seconds, warnings } = estimated({ parallel: 8, seeds: { values: 8 } })
    expect(seconds.expected).toBe(2 * whole)
    expect(warnings).toEqual([
      expect.stringContaining(
        '8 runs with 2 threads each share 8 cores: set `device.threads` to 1',
      ) as string,
      expect.stringContaining('8 runs at a time take about 8.5 GB of memory, but only 5 GB') as string,
    ])
  })
})

describe('trials at the same time', () => {
  const config = parseRunConfig({ ...smallConfig, device: { threads: 4 } })
  const request: SharingRequest = {
    kind: 'population',
    waves: [{ size: 6, from: 0, until: 10 }],
    config,
    isCpu: true,
    given: null,
    cores: 8,
    threads: 4,
    needs: null,
  }
  const needs: TrialNeeds = { ownBytes: 1.5e9, baseBytes: 0.1e9, availableBytes: 24e9, card: null }

  test('are as many as have cores', () => {
    expect(sharingOf(request)).toEqual({
      parallel: 2,
      warnings: [],
      words: '6 members, 2 at a time: 8 cores / 4 threads each.',
    })
    expect(sharingOf({ ...request, needs }).words).toBe(
      '6 members, 2 at a time: 8 cores / 4 threads each. Memory: 100 MB of weights once + 2 × 1.5 GB = 3.1 GB of 24 GB free.',
    )
    expect(sharingOf({ ...request, threads: 1 }).parallel).toBe(6)
    const all = { ...request, threads: 8, config: parseRunConfig(smallConfig) }
    expect(sharingOf(all).words).toContain(
      '1 at a time: 8 cores / 8 threads each. With fewer `device.threads`',
    )
  })

  test('are as many as have memory, and at least one', () => {
    const tight = { ...request, threads: 1, needs: { ...needs, availableBytes: 5e9 } }
    expect(sharingOf(tight).parallel).toBe(3)
    const none = sharingOf({ ...tight, needs: { ...needs, availableBytes: 1e9 } })
    expect(none.parallel).toBe(1)
    expect(none.warnings).toEqual([
      expect.stringContaining(
        '1 member at a time take about 1.6 GB of memory, but only 1 GB are free',
      ) as string,
    ])
  })

  test('are one on a graphics card, unless it was measured that more fit', () => {
    const card = { ...request, isCpu: false, threads: 8, config: parseRunConfig(smallConfig) }
    expect(coresAllow(card)).toBe(6)
    expect(sharingOf(card)).toMatchObject({ parallel: 1 })
    expect(sharingOf({ ...card, needs }).parallel).toBe(1)
    const measured = { ...needs, card: { bytes: 5e9, freeBytes: 16e9 } }
    expect(sharingOf({ ...card, needs: measured })).toMatchObject({
      parallel: 3,
      words: expect.stringContaining('On the card: 3 × 5 GB of 16 GB free.') as string,
    })
    expect(sharingOf({ ...card, given: 4, needs: measured }).warnings).toEqual([
      expect.stringContaining('20 GB on the graphics card, but only 16 GB are free there') as string,
    ])
  })
})

type Item = OutputOf<Api, 'studies.calibrate'>
type Estimate = Extract<Item, { readonly result: unknown }>['result']

async function calibrated(file: object): Promise<Estimate> {
  const last = (await collect(client.stream('studies.calibrate', { file: { ...file } }))).at(-1)
  if (last === undefined || !('result' in last)) throw new Error('Expected a result at the end.')
  return last.result
}

const studyOf = ({ id }: { readonly id: string }) => client.call('studies.get', { id })

/** 0 for one that has just ended. */
function allocatedBy(pid: number): number {
  try {
    return kilobytes(readFileSync(`/proc/${String(pid)}/status`, 'utf8'), 'RssAnon') ?? 0
  } catch {
    return 0
  }
}

describe('the starter', () => {
  test('trains as many members together as cores and memory allow, measured before, in as much memory as is said', async () => {
    const file = { ...smallConfig, steps: 2, device: { threads: 1 }, seeds: { values: 2 } }
    const { id, parallel } = await client.call('studies.start', { file }).then(studyOf)
    const { cpu } = await client.call('system.info')
    expect(parallel).toBe(Math.min(2, cpu.physicalCores))
    let mostBytes = 0
    while ((await studyOf({ id })).status === 'running') {
      for (const { pid } of fixture.host.supervisor.list())
        mostBytes = Math.max(mostBytes, allocatedBy(pid ?? 0))
      await setTimeout(20)
    }
    const estimate = await calibrated(file)
    expect(estimate).toMatchObject({ trials: 2, totalSteps: 4, run: { steps: 2 } })
    const { low, expected, high } = estimate.seconds
    expect(low).toBeLessThan(expected)
    expect(high).toBeGreaterThan(expected)
    if (process.platform !== 'linux') return
    expect(mostBytes / estimate.memory.ownBytes).toBeGreaterThan(0.6)
    expect(mostBytes / estimate.memory.ownBytes).toBeLessThan(1.3)
  })

  test('tries the lightest and the heaviest trial where a range decides how much a step computes', async () => {
    const { run, warnings } = await calibrated({
      ...smallConfig,
      sweep: {
        parameters: {
          'rollout.groupSize': { values: [2, 6] },
          'algorithm.id': { values: ['grpo', 'cispo'] },
        },
      },
    })
    expect(run.samples).toHaveLength(6)
    expect(warnings).toEqual([expect.stringContaining('trials with another algorithm.id') as string])
  })

  test('says which trials cannot be trained with', async () => {
    const { warnings } = await calibrated({
      ...smallConfig,
      sweep: { method: 'grid', parameters: { 'rollout.maxNewTokens': { values: [4, 100_000] } } },
    })
    expect(warnings).toEqual([
      expect.stringMatching(/^Trials with rollout.maxNewTokens 100000 will fail: /) as string,
    ])
  })
})
