/** What a workflow's trajectory takes from the records of its completions. */
import { expect, test } from 'vitest'
import { type Generated, returnedTrajectories } from '#rl/rollout/workflowTrajectory.ts'

const generated = (promptIds: readonly number[], ids: readonly number[], expert: number): Generated => ({
  promptIds: Int32Array.from(promptIds),
  ids: Int32Array.from(ids),
  logprobs: new Float64Array(ids.length),
  routes: { width: 2, experts: new Uint16Array(2 * (promptIds.length + ids.length - 1)).fill(expert) },
  stopReason: 'stop-id',
  text: '',
  maxNewTokens: 8,
})

const routesOf = (
  actions: readonly [number, number][],
  ids: readonly number[],
  records: readonly Generated[],
) => {
  const row = { row: 0, columns: {} }
  const counts = { requests: records.length, rounds: 1 }
  const episode = {
    row,
    group: 0,
    generated: records,
    prompts: [],
    continuations: [],
    columns: {},
    metrics: {},
    ...counts,
  }
  const parts = { decode: () => '', contextLength: 64, vocabSize: 100, hasCritic: false }
  const [trajectory] = returnedTrajectories([{ ids, actions }], episode, parts)
  return trajectory!.routes && Array.from(trajectory!.routes.experts)
}

test('experts come from the completion that sampled behind a token, as far as it goes', () => {
  const first = generated([1, 2], [3, 4, 5], 1)
  const second = generated([1, 2, 3, 4, 6], [7, 8], 2)
  // Of the first, the last id is left out: what is known ends with the tokens that both have.
  const ids = [1, 2, 3, 4, 6, 7, 8]
  const spans: [number, number][] = [
    [2, 4],
    [5, 7],
  ]
  expect(routesOf(spans, ids, [first, second])).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2])
  // Behind a window places are others.
  const windowed = generated([1, 6], [7, 8], 3)
  expect(routesOf(spans, ids, [first, windowed])).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
  expect(routesOf([[5, 7]], ids, [windowed])).toBeUndefined()
})
