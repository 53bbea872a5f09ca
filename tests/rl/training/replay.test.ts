/** Rows that were not solved come again. */
import { describe, expect, test } from 'vitest'
import { grpo } from '#rl/algorithms/grpo.ts'
import type { Trajectory } from '#rl/rollout/trajectory.ts'
import { unsolvedAfter } from '#rl/training/replay.ts'
import type { TrainerState } from '#shared/events.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { collect, dependenciesOf, expectExactResume, rewardOf, steps, watched } from './run.ts'

describe('rows that were not solved', () => {
  // Of the rows a b d e f g h these stand at 1 and 3.
  const rewards = rewardOf((prompt) => ('be'.includes(prompt) ? 0 : 1))
  const rollout = { replayShare: 0.5, replayTries: 2 }
  const config = { steps: 4, data: { train: 't', shuffle: false } }

  test('come again among the prompts of later steps, a few times', async () => {
    const { algorithm, batches } = watched(grpo.configure({ klCoefficient: 0 }))
    const states: TrainerState[] = []
    const everyStep = { ...config, checkpoints: { every: 1 } }
    const events = await collect(
      dependenciesOf({ algorithm, rewards, rollout, heldOutRows: [], config: everyStep }),
      (event) => {
        if (event.type === 'checkpoint-due') states.push(event.state)
      },
    )
    const rows = batches.map((batch) => [
      ...new Set(batch.map((trajectory) => (trajectory as Trajectory).prompt.row)),
    ])
    expect(rows).toEqual([
      [0, 1, 2, 3],
      [4, 5, 1, 3],
      [6, 0, 1, 3],
      [1, 2, 3, 4],
    ])
    const both = (tries: number) => [1, 3].map((row) => ({ row, tries }))
    expect(states.map(({ unsolved }) => unsolved)).toEqual([both(0), both(1), [], both(0)])
    expect(states.map(({ promptsDrawn }) => promptsDrawn)).toEqual([4, 6, 8, 12])
    const metrics = steps(events).map((step) => step.metrics)
    expect(metrics.map((each) => each['rollout/replayed_prompts'])).toEqual([0, 2, 2, 0])
    expect(metrics.map((each) => each['rollout/unsolved_prompts'])).toEqual([2, 2, 0, 2])
  })

  test('wait in the checkpoint', () => expectExactResume({ rewards, rollout, config }))

  test('are solved where their completions earn enough on average', () => {
    const earned = (row: number, total: number | null) => ({
      prompt: { row } as Trajectory['prompt'],
      reward: { parts: {}, total, failures: [] },
    })
    const { rollout: settings } = parseRunConfig({
      model: 'm',
      data: { train: 't' },
      rewards: [{ function: 'c' }],
      rollout: { replayShare: 0.5, replaySolvedAt: 0.5, replayTries: 1 },
    })
    const waiting = [7, 8, 9].map((row) => ({ row, tries: 0 }))
    const step = [
      earned(1, 0.1),
      earned(1, 0.9),
      earned(2, 0.4),
      earned(2, null),
      earned(3, null),
      earned(7, 1),
    ]
    expect(unsolvedAfter(waiting, [...step, earned(8, 0)], settings)).toEqual([
      { row: 9, tries: 0 },
      { row: 2, tries: 0 },
      { row: 3, tries: 0 },
    ])
  })

  test.each([
    [{ ...rollout, promptsPerStep: 1 }, {}, 'less than one prompt: it must be at least 1.0'],
    [{ ...rollout, maxStaleness: 1 }, {}, 'the prompts of a step follow from the rewards of those before'],
    [rollout, { script: async function* () {} }, 'A training script draws its prompts itself'],
  ])('are refused with %o', async (own, parts, message) => {
    const dependencies = dependenciesOf({ rollout: own, ...parts })
    await expect(collect(dependencies)).rejects.toThrow(message)
  })
})
