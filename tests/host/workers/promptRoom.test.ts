import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { promptRoomWarnings } from '#host/workers/promptRoom.ts'
import { fakeTokenizer } from '../../rl/fakePolicy.ts'

/** A token a letter. */
const text = { tokenizer: fakeTokenizer, chatTemplate: null, contextLength: 40 } as unknown as Parameters<
  typeof promptRoomWarnings
>[2]
const configOf = (maxNewTokens: number, maxPromptTokens: number | null = null) =>
  parseRunConfig({
    ...{ model: 'm', rewards: [{ function: 'c' }] },
    data: { train: 'rows.jsonl', maxPromptTokens },
    rollout: { maxNewTokens },
  })
const rows = ['abc', 'a'.repeat(30), 'abcd', 'ab', 'abcde'].map((prompt) => ({ prompt }))

test('rows too long for the context together with a completion are told before the run', () => {
  expect(promptRoomWarnings(configOf(10), rows, text)).toEqual([])
  expect(promptRoomWarnings(configOf(11), rows, text)).toEqual([
    'rollout.maxNewTokens is 11, and the longest prompt has 30 tokens: together they are more than the 40 tokens the model reads, so that such rows are left out.',
  ])
  // Somebody asked for it.
  expect(promptRoomWarnings(configOf(11, 20), rows, text)).toEqual([])
})

test('no row at all is an error', () => {
  expect(() => promptRoomWarnings(configOf(39), rows, text)).toThrow(
    'rollout.maxNewTokens is 39, and even short prompts have 2 tokens',
  )
})
