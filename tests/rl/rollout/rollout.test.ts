import { describe, expect, test } from 'vitest'
import { encodePrompts, type PromptEncoder, type PromptForm } from '#rl/rollout/prompts.ts'
import { generateTrajectories } from '#rl/rollout/rollout.ts'
import { completionMask } from '#rl/rollout/trajectory.ts'
import { fakePolicy, fakeTokenizer, stopId } from '../fakePolicy.ts'

const sampling = {
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 5,
  stopIds: [stopId],
  stopStrings: [],
}

const encoder = (form: PromptForm): PromptEncoder => ({
  form,
  tokenizer: fakeTokenizer,
  chatTemplate: {
    render: (messages, { addGenerationPrompt }) =>
      messages.map(({ role, content }) => `<${role}>${content}`).join('') +
      (addGenerationPrompt ? '<assistant>' : ''),
  },
})

const textOf = (form: PromptForm, row: Record<string, unknown>) =>
  encodePrompts([row], encoder(form), 99).prompts[0]!.text

describe('prompts', () => {
  test('come from a column, a template or messages', () => {
    expect(textOf({ column: 'q' }, { q: 'abc' })).toBe('abc')
    expect(textOf({ column: 'q' }, { q: [{ role: 'user', content: 'a' }] })).toBe('<user>a<assistant>')
    expect(textOf({ template: '{{{q}}} + {n}' }, { q: 'ab', n: 3 })).toBe('{ab} + 3')
    const messages = [
      { role: 'system', content: 'Count.' },
      { role: 'user', content: '{q}?' },
    ]
    expect(textOf({ messages }, { q: 'b' })).toBe('<system>Count.<user>b?<assistant>')
  })

  test('an assistant message at the end is continued, an empty one only opened', () => {
    const ending = (content: string) => ({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content },
      ],
    })
    expect(textOf(ending('So'), {})).toBe('<user>a<assistant>So')
    expect(textOf(ending(''), {})).toBe('<user>a<assistant>')
  })

  test('what cannot become a prompt is named by its row', () => {
    const rows = [{ q: 'a' }, { p: 'b' }]
    expect(() => encodePrompts(rows, encoder({ column: 'q' }), 9)).toThrow('Row 2')
    expect(() => encodePrompts(rows, encoder({ template: '{q}' }), 9)).toThrow('it has no column “q”')
    const bare = { ...encoder({ messages: [{ role: 'user', content: 'a' }] }), chatTemplate: null }
    expect(() => encodePrompts(rows, bare, 9)).toThrow('no chat template')
  })

  test('long ones are left out and keep their row numbers', () => {
    const { prompts, tooLong } = encodePrompts([{ q: 'abcd' }, { q: 'ab' }], encoder({ column: 'q' }), 3)
    expect(prompts.map(({ row }) => row)).toEqual([1])
    expect(tooLong).toEqual([0])
  })
})

describe('trajectories', () => {
  const policy = fakePolicy()
  const { prompts } = encodePrompts([{ q: 'ab' }, { q: 'c' }, { q: 'ab' }], encoder({ column: 'q' }), 9)
  const rollOut = (rows: typeof prompts) =>
    generateTrajectories(
      { prompts: rows, groupSize: 3, seed: 1, step: 2 },
      { policy, generate: { role: 'actor', sampling }, decode: fakeTokenizer.decode },
    )

  test('actions are the generated tokens, the end-of-text token included', async () => {
    for (const { ids, actionMask, prompt, completionTokens, stopReason } of await rollOut(prompts)) {
      expect(ids.length).toBe(prompt.ids.length + completionTokens)
      expect([...actionMask]).toEqual(
        Array.from({ length: ids.length - 1 }, (_, t) => Number(t + 1 >= prompt.ids.length)),
      )
      expect(stopReason === 'stop-id').toBe(ids.at(-1) === stopId)
      if (stopReason === 'stop-id') expect(actionMask.at(-1)).toBe(1)
    }
    expect([...completionMask(3, 5)]).toEqual([0, 0, 1, 1])
  })

  test('a trajectory does not depend on what else is in the batch', async () => {
    const together = await rollOut(prompts)
    const alone = await rollOut([prompts[1]!])
    expect(alone.map(({ completion }) => completion)).toEqual(
      together.slice(3, 6).map(({ completion }) => completion),
    )
    expect(together.map(({ group }) => group)).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2])
  })

  test('a row drawn twice in a step is answered anew', async () => {
    const twice = await rollOut([prompts[0]!, prompts[0]!])
    expect(twice.slice(0, 3).map(({ completion }) => completion)).not.toEqual(
      twice.slice(3).map(({ completion }) => completion),
    )
  })

  test('what follows from a stop string on is not judged, but was chosen and is learned from', async () => {
    const ids = Int32Array.of(1, 2, 3, 4) // abcd
    const ends = {
      async *generate() {
        yield {
          request: 0,
          sample: 0,
          ids,
          logprobs: new Float64Array(4),
          stopReason: 'stop-string' as const,
        }
      },
    }
    const generate = { role: 'actor' as const, sampling: { ...sampling, stopStrings: ['d', 'cd'] } }
    const [trajectory] = await generateTrajectories(
      { prompts: [prompts[0]!], groupSize: 1, seed: 1, step: 1 },
      { policy: ends, generate, decode: fakeTokenizer.decode },
    )
    expect(trajectory).toMatchObject({ completion: 'ab', completionTokens: 4 })
    expect([...trajectory!.actionMask]).toEqual([0, 1, 1, 1, 1])
  })

  test('a completion that never comes is an error', async () => {
    const silent = { async *generate() {} }
    const rolling = generateTrajectories(
      { prompts, groupSize: 1, seed: 1, step: 1 },
      { policy: silent, generate: { role: 'actor', sampling }, decode: fakeTokenizer.decode },
    )
    await expect(rolling).rejects.toThrow('number 0 never arrived')
  })
})
