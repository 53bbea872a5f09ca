import { describe, expect, test } from 'vitest'
import type { RunEvent, TrajectorySample } from '#shared/events.ts'
import { unpackFloats, unpackInts } from '#shared/packedArray.ts'
import { singleTurnTrajectory } from '#rl/rollout/trajectory.ts'
import { spreadGroups, tokenArrays } from '#rl/training/samples.ts'
import { fakePolicy } from '../fakePolicy.ts'
import { collect, dependenciesOf } from './run.ts'

const samplesOf = (events: readonly RunEvent[], source: 'rollout' | 'evaluation'): TrajectorySample[] =>
  events.flatMap((event) => (event.type === 'samples' && event.source === source ? event.samples : []))

const floats = (text: string | null | undefined): number[] => [...unpackFloats(text ?? '')]

describe('shown trajectories', () => {
  test('are spread over the step', () => {
    const single = [0, 1, 2, 3, 4].map((group) => ({ group }))
    expect(spreadGroups(single, 2)).toEqual([{ group: 0 }, { group: 2 }])
    expect(spreadGroups(single, 9)).toEqual(single)
    expect(spreadGroups(single, 0)).toEqual([])
    expect(spreadGroups([], 3)).toEqual([])
  })

  test('come as whole groups, as many as fit', () => {
    const grouped = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3].map((group, id) => ({ group, id }))
    const ids = (count: number) => spreadGroups(grouped, count).map(({ id }) => id)
    expect(ids(7)).toEqual([0, 1, 2, 6, 7, 8])
    expect(ids(2)).toEqual([0, 1])
    expect(ids(12)).toHaveLength(12)
  })

  test('carry the arrays of the pass that learned and of the sampler, token by token', async () => {
    const policy = fakePolicy({ samplerGap: 0.04 })
    const settings = { klCoefficient: 0.1 }
    const events = await collect(
      dependenciesOf({ policy, settings, config: { steps: 2, shownTrajectories: 99 } }),
    )
    const learned = samplesOf(events, 'rollout').filter(({ advantage }) => advantage !== null)
    expect(learned.length).toBeGreaterThan(8)
    for (const { arrays, tokens, advantage } of learned) {
      const ids = unpackInts(arrays?.ids ?? '')
      const mask = floats(arrays?.actionMask)
      expect(mask).toHaveLength(ids.length - 1)
      expect(mask.filter((isAction) => isAction === 1)).toHaveLength(tokens)
      const [logprobs, sampled] = [floats(arrays?.logprobs), floats(arrays?.behaviorLogprobs)]
      mask.forEach((isAction, t) => {
        expect(sampled[t]! - logprobs[t]!).toBeCloseTo(isAction === 1 ? 0.04 : 0, 5)
        expect(floats(arrays?.entropies)[t]! > 0).toBe(isAction === 1)
        expect(floats(arrays?.referenceLogprobs)[t]! < 0).toBe(isAction === 1)
      })
      const mean = floats(arrays?.advantages).reduce((a, b) => a + b, 0) / tokens
      expect(mean).toBeCloseTo(advantage ?? NaN, 5)
    }
  })

  test('tell the policy after earlier updates from the one that sampled', async () => {
    const optimization = { epochs: 3 }
    const events = await collect(
      dependenciesOf({ optimization, config: { steps: 1, shownTrajectories: 99 } }),
    )
    const moved = samplesOf(events, 'rollout').flatMap(({ arrays }) => {
      const sampled = floats(arrays?.behaviorLogprobs)
      return floats(arrays?.logprobs).map((logprob, t) => Math.abs(logprob - sampled[t]!))
    })
    expect(Math.max(...moved)).toBeGreaterThan(0.01)
  })

  test('have no arrays of the learner where they were not learned from', async () => {
    const events = await collect(dependenciesOf({ config: { steps: 1 } }))
    for (const { arrays, advantage } of samplesOf(events, 'evaluation')) {
      expect(advantage).toBeNull()
      expect(arrays).toMatchObject({ logprobs: null, entropies: null, advantages: null })
      expect(Math.max(...floats(arrays?.behaviorLogprobs))).toBeLessThanOrEqual(0)
    }
  })

  test('tell what tokens and turns earned, unless one reward stands for all', () => {
    const prompt = { row: 0, columns: {}, text: '', ids: Int32Array.of(1, 2) }
    const ids = Int32Array.of(3, 4, 5)
    const generated = { ids, logprobs: new Float64Array(3), stopReason: 'stop-id' } as const
    const whole = {
      ...singleTurnTrajectory(prompt, 0, generated, ''),
      reward: { parts: {}, total: 1, failures: [] },
      turnRewards: [1],
      tokenRewards: null,
    }
    expect(tokenArrays(whole)).not.toHaveProperty('rewards')
    const turns = {
      ...whole,
      actionMask: Uint8Array.of(0, 1, 0, 1),
      turnIds: Int32Array.of(-1, 0, -1, 1),
      turnRewards: [0.5, -1],
    }
    expect(floats(tokenArrays(turns).rewards)).toEqual([0, 0.5, 0, -1])
    const tokens = { ...turns, tokenRewards: Float64Array.of(0, 0.25, 0, 2) }
    expect(floats(tokenArrays(tokens).rewards)).toEqual([0, 0.25, 0, 2])
    expect(tokenArrays({ ...turns, turnRewards: [] })).not.toHaveProperty('rewards')
  })

  test('cost nothing where none is asked for', async () => {
    const events = await collect(dependenciesOf({ config: { steps: 1, shownTrajectories: 0 } }))
    expect(events.filter(({ type }) => type === 'samples')).toEqual([])
  })
})
