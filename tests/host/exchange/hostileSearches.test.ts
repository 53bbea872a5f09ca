import { expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { importConfig } from '#host/exchange/importConfig.ts'
import { isWhole } from '../../sweeps.ts'
import { sectionsOf, tutorial, wandb } from './searchFiles.ts'

/** JSON, YAML and Python with characters missing, doubled or changed: an outcome, or a refusal in a sentence. */
test('damaged files of searches are read or refused, never anything else', () => {
  const whole = [tutorial, wandb, sectionsOf({})]
  const rounds = isWhole ? 250 : 60
  const seen = { read: 0, refused: 0 }
  for (const [index, text] of whole.entries())
    for (let round = 0; round < rounds; round++) {
      const random = new SequentialRandom(randomStream(7, index, round))
      try {
        importConfig(damaged(text, random))
        seen.read++
      } catch (error) {
        expect(error, String(error)).toBeInstanceOf(AppError)
        expect(['config/invalid', 'usage/invalid']).toContain((error as AppError).code)
        seen.refused++
      }
    }
  expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(rounds / 5)
})

function damaged(text: string, random: SequentialRandom): string {
  const signs = [...text]
  for (let i = 0; i <= random.integer(4); i++) {
    const at = random.integer(signs.length)
    const other = signs[random.integer(signs.length)] ?? ''
    signs.splice(
      at,
      random.integer(3),
      ...(random.uniform() < 0.5 ? [other] : ['({['[random.integer(3)] ?? '']),
    )
  }
  return signs.join('')
}

test.each([
  ['brackets within brackets', `x = ${'['.repeat(50_000)}`],
  ['calls within calls', `import a\n${'f('.repeat(90_000)}`],
  ['names that stand for each other', `INIT_HP = {"LR": b}\nb = c\nc = b\nALGO = "GRPO"`],
  ['a very long power', 'import a\nINIT_HP = {"LR": 9**9**9**9}'],
])('Python with %s is refused', (_, text) => {
  expect(() => importConfig(text)).toThrow(AppError)
})

test('keys of a Python file are keys only', () => {
  const { config } = importConfig(
    'INIT_HP = {"__proto__": {"polluted": 1}, "ALGO": "GRPO", "LR": 2e-5}\nGRPO(__proto__={"polluted": 1}, constructor=3)',
  )
  expect(config.optimization.learningRate).toBe(2e-5)
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
})
