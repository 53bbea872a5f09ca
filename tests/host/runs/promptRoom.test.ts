import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { promptRoomWarnings } from '#host/runs/runVerdict.ts'

/** A token a letter. */
const model = {
  contextLength: 40,
  lengthsOf: (rows: readonly Readonly<Record<string, unknown>>[]) =>
    Promise.resolve(rows.map(({ prompt }) => String(prompt).length)),
}
const configOf = (maxNewTokens: number, maxPromptTokens: number | null = null) =>
  parseRunConfig({
    model: 'm',
    rewards: [{ function: 'c' }],
    data: { train: 'rows.jsonl', maxPromptTokens },
    rollout: { maxNewTokens },
  })
const rows = ['abc', 'a'.repeat(30), 'abcd', 'ab', 'abcde'].map((prompt) => ({ prompt }))

test('rows too long for the context together with a completion are told before the run', async () => {
  expect(await promptRoomWarnings(configOf(10), rows, model)).toEqual([])
  expect(await promptRoomWarnings(configOf(11), rows, model)).toEqual([
    {
      path: 'rollout.maxNewTokens',
      code: 'unwise',
      stage: null,
      message:
        '11, and the longest prompt has 30 tokens: together they exceed the model’s context of 40 tokens, so that such rows are left out.',
    },
  ])
  // Somebody asked for it.
  expect(await promptRoomWarnings(configOf(11, 20), rows, model)).toEqual([])
})

test('no row at all is an error', async () => {
  await expect(promptRoomWarnings(configOf(39), rows, model)).rejects.toThrow(
    'rollout.maxNewTokens: 39, and even short prompts have 2 tokens',
  )
  await expect(promptRoomWarnings(configOf(39), rows, { ...model, teacher: 'short' })).rejects.toThrow(
    'together they exceed the teacher short’s context of 40 tokens, and no row could be trained on. Lower it, or shorten the prompts. Or set `reference.model` to a teacher that reads more.',
  )
})
