import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { answerWarnings } from '#host/runs/answerWarnings.ts'

const configOf = (id: string, settings = {}) =>
  parseRunConfig({ model: 'm', data: { train: 'rows.jsonl' }, rewards: [{ function: id, settings }] })
const rowsOf = (...answers: readonly unknown[]) => answers.map((answer) => ({ answer }))

test('answers that are not numbers are counted, and a reward that compares them is named', async () => {
  const rows = rowsOf('42', '2\\sqrt{3}', 7, 'x^2 + 1')
  expect(await answerWarnings(configOf('numeric-equality'), rows)).toEqual([
    {
      path: 'rewards[0].function',
      code: 'unwise',
      stage: null,
      message:
        'numeric-equality, but 2 of 4 answers are not a number, list, ratio, date or time (such as “2\\sqrt{3}”): it gives no reward there. Use math-equality for them.',
    },
  ])
  expect(await answerWarnings(configOf('math-equality'), rows)).toEqual([])
})

test('of sentences neither is proposed', async () => {
  const rows = rowsOf('42', 'Because the light of the sun is scattered by the air.')
  const [warning] = await answerWarnings(configOf('numeric-equality'), rows)
  expect(warning?.message).not.toContain('math-equality')
  const [second] = await answerWarnings(configOf('math-equality'), rows)
  expect(second?.message).toContain('1 of 2 answers are not an expression or a few words')
})

test('numbers in another column, and other rewards, cause no doubt', async () => {
  const rows = [{ result: '1,200', answer: 'many' }]
  expect(await answerWarnings(configOf('numeric-equality', { column: 'result' }), rows)).toEqual([])
  expect(await answerWarnings(configOf('exact-match'), rows)).toEqual([])
})
