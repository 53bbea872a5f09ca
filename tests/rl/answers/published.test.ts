/** math-equality beside Math-Verify, on the pairs of Math-Verify's tests: tests/fixtures/answers/README.md. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { builtInReward } from '#rl/environments/registry.ts'

type Pair = readonly [answer: string, completion: string, isSame: boolean]
const pairs = JSON.parse(
  readFileSync(new URL('../../fixtures/answers/cases.json', import.meta.url), 'utf8'),
) as Pair[]

/** Where the two differ; docs/reference.md says why. */
const differing: readonly (readonly [answer: string, completion: string])[] = [
  ['$1 - \\frac{1}{\\mathrm{e}}$', '$1 + \\frac{1}{\\mathrm{e}}$'],
  ['$1 = \\zzz = x = 0$', '$0$'],
  ['$10/9$', 'Answer $ \\frac{1}{2} \\$ = \\frac{10}{9} $'],
  [
    '$1\\leq|z|\\leq \\frac{3}{2}$',
    '$z \\in \\left[-\\frac{3}{2}, -1\\right] \\cup \\left[1, \\frac{3}{2}\\right]$',
  ],
  ['$x \\in [-2,7]$', '$-2 \\\\le x \\\\le 7$'],
]
const isComputed = (completion: string) => /pmatrix\} ?\+? ?\\begin/.test(completion)

test('the two agree but for the pairs that are listed', async () => {
  const inputs = pairs.map(([answer, completion]) => ({ prompt: '', completion, row: { answer }, step: 0 }))
  const scores = await builtInReward('math-equality').score(inputs)
  const others = pairs.filter(([, , isSame], i) => {
    const score = scores[i]
    return score === undefined || !('value' in score) || (score.value === 1) !== isSame
  })
  const unexplained = others.filter(
    ([answer, completion]) =>
      !differing.some(([a, c]) => a === answer && c === completion) &&
      !isComputed(completion) &&
      !answer.includes('regular hexagon'),
  )
  expect(unexplained).toEqual([])
  expect(pairs.length - others.length).toBeGreaterThanOrEqual(195)
})
