/** A loss of one's own over the likeliest tokens of the reference: GKD typed in is the built-in one, and passes the checks. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { distillation } from '#rl/algorithms/distillation.ts'
import type { ConfiguredAlgorithm } from '#rl/algorithms/types.ts'
import { sampleBatch } from '#rl/losses/sampleBatch.ts'
import { configConflicts } from '#rl/training/conflicts.ts'
import { resolveAlgorithms } from '#host/code/resolveAlgorithms.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-top-'))
afterAll(() => rmSync(folder, { recursive: true }))

const code = `export default defineLoss({
  topK: 3,
  settings: { beta: { default: 0.5, minimum: 0, maximum: 1 } },
  loss: ({ topLogp, topRefLogp, mask, settings: { beta } }) => {
    const [q, p] = [exp(topLogp), exp(topRefLogp)]
    const [restQ, restP] = [1 - sum(q, 'token'), 1 - sum(p, 'token')]
    const term = (p, logp, q, logq) => {
      const m = log(beta * p + (1 - beta) * q)
      return beta * p * (logp - m) + (1 - beta) * q * (logq - m)
    }
    const compared = sum(term(p, topRefLogp, q, topLogp), 'token')
    return mean(compared + term(restP, log(restP), restQ, log(restQ)), mask)
  },
})`

async function written(settings: object, text = code): Promise<ConfiguredAlgorithm> {
  const file = path.join(folder, 'gkd.js')
  writeFileSync(file, text)
  const config = parseRunConfig({ model: 'm', data: { train: 't' }, algorithm: { id: file, settings } })
  await using resolved = await resolveAlgorithms(config, null)
  return resolved.byId(file).configure(config.algorithm.settings)
}

test.each([0.5, 0.2])('it is the built-in one: beta %s', async (beta) => {
  const own = await written({ beta })
  expect(own.needs).toMatchObject({ likeliest: 3, reference: true, teacher: false, rewards: false })
  const rows = sampleBatch()
  own.admit?.(rows, () => undefined)
  const builtIn = distillation.configure({ compares: 'top-k', jsdBeta: beta, topK: 3 })
  const [ours, theirs] = [own, builtIn].map((each) => each.minibatchLoss(rows)(rows))
  expect(ours!.loss).toBeCloseTo(theirs!.loss, 12)
  for (const [i, { alternatives, logprobs }] of ours!.coefficients.entries()) {
    expect(logprobs.every((slope) => slope === 0)).toBe(true)
    const expected = theirs!.coefficients[i]!.alternatives!
    expect(alternatives).toHaveLength(expected.length)
    alternatives!.forEach((slope, at) => expect(slope).toBeCloseTo(expected[at]!, 12))
  }
})

const takingPart = (own: ConfiguredAlgorithm) => ({
  rewards: own.needs.rewards,
  teacher: own.needs.teacher,
  refused: configConflicts(parseRunConfig({ model: 'm', data: { train: 't' } }), own).map(({ path }) => path),
})

test.each([
  ['loss: ({ topLogp, mask }) => mean(sum(exp(topLogp) * topLogp, "token"), mask)', false],
  ['loss: ({ logp, refLogp, mask }) => mean(square(logp - refLogp), mask)', false],
  ['loss: ({ logp, advantages, mask }) => -mean(logp * advantages, mask)', true],
  ['loss: ({ logp, rewards, mask }) => -mean(logp * rewards, mask)', true],
  ['advantages: "rloo", loss: ({ topLogp, mask }) => mean(sum(exp(topLogp), "token"), mask)', true],
  ['advantages: ({ rows }) => rows.map(() => 1), loss: ({ logp, mask }) => -mean(logp, mask)', true],
])('rewards are asked for where they reach the loss: %s', async (line, rewards) => {
  const own = await written({}, `export default defineLoss({ ${line} })`)
  expect(takingPart(own)).toEqual({ rewards, teacher: false, refused: rewards ? ['rewards'] : [] })
})

test('whose advantages are those of a distillation needs a teacher in the place of rewards', async () => {
  const loss = '({ logp, advantages, mask }) => -mean(logp * advantages, mask)'
  const own = await written({}, `export default defineLoss({ advantages: "distillation", loss: ${loss} })`)
  expect(own.needs).toMatchObject({ behavior: true, reference: true })
  expect(takingPart(own)).toEqual({ rewards: false, teacher: true, refused: ['reference.model'] })
})

test('every completion takes part where no reward is read', async () => {
  const own = await written(
    {},
    `export default defineLoss({ loss: ({ topLogp, mask }) => mean(sum(exp(topLogp), "token"), mask) })`,
  )
  const rows = sampleBatch()
  const { tokens, kept } = await own.advantages(rows)
  expect(kept).toEqual(rows.map((_, i) => i))
  expect(tokens.map((each) => [...each])).toEqual(rows.map(({ actionMask }) => [...actionMask]))
})

test.each([
  ['topK: 0', 'topK: expected at least 1, got 0.'],
  ['topK: "8"', 'topK: expected a number, got "8".'],
  ['experience: "foo"', 'experience: expected one of'],
])('a key of the definition that is wrong is named: %s', async (line, sentence) => {
  const loss = `export default defineLoss({ ${line}, loss: ({ logp, mask }) => -mean(logp, mask) })`
  await expect(written({}, loss)).rejects.toThrow(sentence)
})
