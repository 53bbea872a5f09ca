/**
 * A fixed batch to check losses on when there is no policy: like real ones, it has sequences and turns of different
 * lengths.
 */
import { randomStream } from '#shared/random.ts'
import type { LossRow } from '../algorithms/types.ts'

/**
 * [prompt, then the tokens of each turn]; after each turn there is an observation of three tokens. After a prompt of one
 * token the row begins with an action, since its first position predicts the second token.
 */
const shapes = [
  [1, 7],
  [1, 12],
  [9, 3, 5],
  [9, 6],
  [1, 4, 4, 2],
  [1, 9],
  [4, 8],
  [4, 2, 3],
] as const

/** Two sequences for each prompt; the first of them is the better one. */
export const sampleBatch = (): LossRow[] => shapes.map(([prompt, ...turns], i) => sampleRow(i, prompt, turns))

const betweenTurns = 3

function sampleRow(row: number, prompt: number, turns: readonly number[]): LossRow {
  const turnIds: number[] = new Array<number>(prompt - 1).fill(-1)
  for (const [turn, length] of turns.entries()) {
    if (turn > 0) turnIds.push(...new Array<number>(betweenTurns).fill(-1))
    turnIds.push(...new Array<number>(length).fill(turn))
  }
  const chance = randomStream(0xba7c4, row)
  let drawn = 0
  const draw = (low: number, high: number) =>
    Float64Array.from(turnIds, () => low + (high - low) * chance.uniformAt(drawn++))
  const advantage = row % 2 === 0 ? 1 : -1
  const logprobs = draw(-4, -0.1)
  const likely = (from: number) =>
    Float64Array.from({ length: 3 * turnIds.length }, (_, at) => -1.2 - 2 * chance.uniformAt(from + at))
  return {
    group: row >> 1,
    actionMask: Uint8Array.from(turnIds, (turn) => Number(turn >= 0)),
    turnIds: Int32Array.from(turnIds),
    turnRewards: turns.map((_, turn) => (row % 2 === 0 ? 1 : 0) / (turn + 1)),
    truncated: row === 1,
    tokenLimit: 24,
    baselineReward: 0.25,
    logprobs,
    behaviorLogprobs: logprobs,
    samplerLogprobs: logprobs,
    referenceLogprobs: logprobs.map((x, t) => x + 0.3 * Math.sin(t + row)),
    entropies: draw(0.2, 3),
    behaviorEntropies: draw(0.2, 3),
    values: draw(-0.5, 1),
    behaviorValues: draw(-0.5, 1),
    returns: draw(-0.5, 1),
    advantages: draw(0.5, 1.5).map((x, t) => (turnIds[t]! < 0 ? 0 : advantage * x)),
    tokenRewards: null,
    lastStateValue: null,
    correction: null,
    likeliest: { ids: new Int32Array(3 * turnIds.length), logprobs: likely(10_000) },
    likeliestLogprobs: likely(20_000),
  }
}
