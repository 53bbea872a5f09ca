/** Built-in algorithms, written as people write losses: advantages and coefficients are those of the built-in ones. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { builtInAlgorithm } from '#rl/algorithms/registry.ts'
import type { LearningRow, LossRow } from '#rl/algorithms/types.ts'
import { openLoss, traceInto } from '#host/code/resolveAlgorithms.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { bareExperience } from '../../rl/bareExperience.ts'

const gallery = path.join(import.meta.dirname, '../../../resources/losses')

interface Batches {
  readonly turns: number
  readonly builtIn?: Readonly<Record<string, unknown>>
  readonly written?: Readonly<Record<string, unknown>>
}

/** With the settings that both have. */
const cases: Readonly<Record<string, readonly Batches[]>> = {
  grpo: [
    { turns: 3 },
    {
      turns: 1,
      builtIn: { klCoefficient: 0, clipCoefficient: 0.1 },
      written: { klCoefficient: 0, clip: 0.1 },
    },
  ],
  gspo: [{ turns: 1 }, { turns: 2, builtIn: { klCoefficient: 0 }, written: { klCoefficient: 0 } }],
  cispo: [{ turns: 2 }, { turns: 1, builtIn: { klCoefficient: 0 }, written: { klCoefficient: 0 } }],
  reinforce: [{ turns: 1 }, { turns: 1, builtIn: { discount: 0.9 }, written: { discount: 0.9 } }],
  'reinforce-plus-plus': [
    { turns: 2 },
    { turns: 1, builtIn: { klCoefficient: 0 }, written: { klCoefficient: 0 } },
  ],
  rloo: [{ turns: 1 }, { turns: 2, builtIn: { klCoefficient: 0.2 }, written: { klCoefficient: 0.2 } }],
  remax: [{ turns: 2 }],
  ppo: [
    { turns: 1 },
    { turns: 1, builtIn: { gaeLambda: 0.9, discount: 0.95 }, written: { gaeLambda: 0.9, discount: 0.95 } },
    { turns: 1, builtIn: { klCoefficient: 0 }, written: { klCoefficient: 0 } },
  ],
  dpo: [
    { turns: 1 },
    { turns: 1, builtIn: { beta: 0.3, nllAlpha: 0.2 }, written: { beta: 0.3, nllAlpha: 0.2 } },
  ],
}

describe.each(Object.keys(cases))('%s, written', (id) => {
  test.each(cases[id]!)('equals the built-in one: %o', async ({ turns, builtIn = {}, written = {} }) => {
    const code = readFileSync(path.join(gallery, `${id}.ts`), 'utf8')
    const loss = await openLoss(`${id}.ts`, { code, language: 'ts' })
    await using _ = loss.sandbox
    await traceInto(loss, written)
    const own = loss.algorithm.configure(written)
    const known = builtInAlgorithm(id).configure(builtIn)
    for (let stream = 0; stream < 3; stream++) {
      const rows = randomRows(turns, stream)
      const [mine, theirs] = [await own.advantages(rows), known.advantages(rows)]
      expect(mine.kept).toEqual(theirs.kept)
      mine.tokens.forEach((tokens, i) => expectClose(tokens, theirs.tokens[i]!))
      mine.returns?.forEach((returns, i) => expectClose(returns, theirs.returns![i]!, rows[i]!.actionMask))
      const learning = rows.map((row, i) => ({
        ...row,
        advantages: theirs.tokens[i]!,
        returns: theirs.returns?.[i] ?? null,
      }))
      const expected = answer(known.minibatchLoss(learning), learning, 6)
      for (const size of [6, 2]) {
        const { value, coefficients } = answer(own.minibatchLoss(learning), learning, size)
        expect(value).toBeCloseTo(expected.value, 11)
        coefficients.forEach(({ logprobs, values }, i) => {
          expectClose(logprobs, expected.coefficients[i]!.logprobs)
          if (known.needs.values) expectClose(values!, expected.coefficients[i]!.values!)
        })
      }
    }
  })
})

function expectClose(mine: Float64Array, theirs: Float64Array, mask?: Uint8Array): void {
  expect(mine.length).toBe(theirs.length)
  mine.forEach((x, t) => {
    if (mask === undefined || mask[t] === 1)
      expect(Math.abs(x - theirs[t]!), `token ${t}: ${x}, ${theirs[t]!}`).toBeLessThanOrEqual(1e-10)
  })
}

type Rows = readonly (LossRow & LearningRow)[]

function answer(
  lossOf: ReturnType<ReturnType<typeof builtInAlgorithm>['configure']>['minibatchLoss'] extends (
    m: never,
  ) => infer R
    ? R
    : never,
  rows: Rows,
  size: number,
) {
  const parts = Array.from({ length: Math.ceil(rows.length / size) }, (_, k) =>
    lossOf(rows.slice(k * size, (k + 1) * size)),
  )
  return {
    value: parts.reduce((sum, { loss }) => sum + loss, 0),
    coefficients: parts.flatMap(({ coefficients }) => coefficients),
  }
}

/** Two of each prompt, with turns of different lengths between tokens of the world, some far off the policy. */
function randomRows(turns: number, stream: number) {
  const random = new SequentialRandom(randomStream(23, stream))
  return Array.from({ length: 6 }, (_, i) => {
    const turnIds = [-1, -1]
    for (let turn = 0; turn < turns; turn++) {
      if (turn > 0) turnIds.push(-1, -1)
      turnIds.push(...new Array<number>(1 + random.integer(8)).fill(turn))
    }
    const length = turnIds.length
    const floats = (draw: () => number) => Float64Array.from({ length }, draw)
    const logprobs = floats(() => -3 * random.uniform())
    const behaviorLogprobs = logprobs.map((x) => x + 0.4 * random.normal())
    return {
      ...bareExperience,
      group: i >> 1,
      actionMask: Uint8Array.from(turnIds, (turn) => Number(turn >= 0)),
      turnIds: turns === 1 ? null : Int32Array.from(turnIds),
      turnRewards: Array.from({ length: turns }, () => random.integer(3)),
      tokenLimit: 64,
      baselineReward: random.uniform(),
      logprobs,
      behaviorLogprobs,
      referenceLogprobs: logprobs.map((x, t) => (t === 3 ? x + 5 : x + 0.5 * random.normal())),
      behaviorValues: floats(() => random.normal()),
      behaviorEntropies: floats(() => random.uniform()),
      entropies: floats(() => random.uniform()),
      values: floats(() => random.normal()),
      advantages: new Float64Array(length),
      returns: null,
      correction: i % 2 === 0 ? null : floats(() => 2 * random.uniform()),
      samplerLogprobs: null,
    }
  })
}
