import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { chatSampling } from '#shared/api/chat.ts'
import { writeAnswer } from '#host/chat/answering.ts'
import type { CompletionNews } from '#host/serving/servedProcess.ts'

const piece = (id: number): CompletionNews => ({
  type: 'piece',
  prompt: 0,
  sample: 0,
  text: 'a',
  end: null,
  tokens: [{ id, text: 'a', logprob: -1, top: [] }],
})

test('the speed of an answer is that of its tokens, without what was loaded before the first', async () => {
  const model = {
    async *complete() {
      yield { type: 'prompts' as const, ids: [new Int32Array([1])] }
      await setTimeout(500) // programs are prepared, the prompt is read
      for (let id = 0; id < 5; id++) {
        yield piece(id)
        await setTimeout(5)
      }
    },
  }
  const asked = {
    model,
    messages: [],
    tools: [],
    by: { model: 'starter' },
    adapter: null,
    seed: 1,
    sampling: chatSampling.parse({}),
    signal: new AbortController().signal,
    onNews: () => undefined,
  }
  const { answer } = await writeAnswer(asked)
  expect(answer.tokens).toBe(5)
  expect(answer.tokensPerSecond).toBeGreaterThan(5 / 0.5)
})
