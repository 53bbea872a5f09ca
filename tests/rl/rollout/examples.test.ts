/** Given answers as tokens. */
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { createChatTemplate } from '#engine/text/chatTemplate.ts'
import { isProblem } from '#host/data/dataFile.ts'
import { mapItem } from '#host/data/mapping.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { encodeExamples, type ExampleEncoder } from '#rl/rollout/examples.ts'
import type { DataRow } from '#rl/rollout/prompts.ts'

const loaded = loadTokenizer(path.join(resourcesDirectory, 'starter'))
const { tokenizer } = loaded
const chatTemplate = loaded.chatTemplate!
const end = tokenizer.special.eos!
const chat: ExampleEncoder = {
  form: { messages: [{ role: 'user', content: '{question}' }] },
  tokenizer,
  chatTemplate,
  stopIds: [end],
  answers: ['answer'],
}
const plain: ExampleEncoder = { ...chat, form: { column: 'question' } }
const chatTemplateOf = (templateFile: string) =>
  createChatTemplate({ tokenizerConfig: null, templateFile, where: 'test' })!
const limits = { maxPromptTokens: 100, maxTokens: 120 }
const row: DataRow = { question: 'Sort 7 2', answer: '2 7' }

const one = (encoder: ExampleEncoder, columns: DataRow = row) =>
  encodeExamples([columns], encoder, limits).examples[0]!
const textOf = (ids: Int32Array) => tokenizer.decode(ids, { skipSpecialTokens: false })

describe('an answer', () => {
  test('stands behind the prompt as the chat template writes it, and ends with the end of the turn', () => {
    const { prompt, answers } = one(chat)
    expect(textOf(prompt.ids) + textOf(answers[0]!.ids)).toBe(
      chatTemplate.render(
        [
          { role: 'user', content: 'Sort 7 2' },
          { role: 'assistant', content: '2 7' },
        ],
        { addGenerationPrompt: false },
      ),
    )
    expect(textOf(answers[0]!.ids)).toBe('2 7<|end|>')
    expect(answers[0]!.ids.at(-1)).toBe(end)
    expect(answers[0]!.text).toBe('2 7')
  })

  test('of a text prompt is encoded apart from it and gets the end that stops a completion', () => {
    const { prompt, answers } = one(plain)
    expect([...prompt.ids]).toEqual([...tokenizer.encode('Sort 7 2', { addSpecialTokens: true })])
    expect([...answers[0]!.ids]).toEqual([...tokenizer.encode('2 7', { addSpecialTokens: false }), end])
  })

  test('may be one message of the assistant', () => {
    const message = { ...row, answer: [{ role: 'assistant', content: '2 7' }] }
    expect(one(chat, message)).toEqual({ ...one(chat), prompt: one(chat, message).prompt })
  })

  test('that calls tools is written by the chat template', () => {
    const template = chatTemplateOf(
      '{% for m in messages %}<|{{ m.role }}|>{% for c in m.tool_calls %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}',
    )
    const call = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"a": 2, "b": [1]}' } }
    const columns = { ...row, answer: [{ role: 'assistant', content: null, tool_calls: [call] }] }
    const [answer] = one({ ...chat, chatTemplate: template }, columns).answers
    expect(textOf(answer!.ids)).toBe('[add {"a": 2, "b": [1]}]<|end|>')
    expect(() => one(plain, columns)).toThrow('it calls tools, which only the chat template can write')
  })

  test('goes on where the prompt ends in the middle of the turn', () => {
    const form = { column: 'turns' }
    const turns = [
      { role: 'user', content: 'Sort 7 2' },
      { role: 'assistant', content: '2 ' },
    ]
    const { prompt, answers } = one({ ...chat, form }, { turns, answer: '7' })
    expect(textOf(prompt.ids) + textOf(answers[0]!.ids)).toBe(
      textOf(one(chat).prompt.ids) + textOf(one(chat).answers[0]!.ids),
    )
  })

  test.each([
    ['an answer', { content: '2' }],
    ['a call', { content: 'Let me', tool_calls: [{ function: { name: 'sort', arguments: {} } }] }],
  ])('follows %s of the assistant in a turn of its own', (_, first) => {
    const messages = [
      { role: 'user', content: 'Sort 7 2' },
      { role: 'assistant', ...first },
      { role: 'assistant', content: '7' },
    ]
    const item = mapItem({ row: { messages }, number: 1, line: 1 }, [
      { kind: 'last-message', column: 'messages' },
    ])
    const columns = isProblem(item) ? {} : item.row
    const template = chatTemplateOf(
      '{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls %}[{{ c.function.name }}]{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}',
    )
    const encoder = { ...chat, form: { column: 'prompt' }, chatTemplate: template, answers: ['completion'] }
    const { prompt, answers } = one(encoder, columns)
    expect(prompt.text + answers[0]!.text).toBe(
      template.render(messages, { addGenerationPrompt: false }).replace(/<.end.>$/, ''),
    )
    expect(textOf(answers[0]!.ids)).toBe('7<|end|>')
  })

  test('is no continuation of a message that calls tools', () => {
    const turns = [
      { role: 'user', content: 'Sort 7 2' },
      { role: 'assistant', content: 'Let me', tool_calls: [{ function: { name: 'sort', arguments: {} } }] },
    ]
    const { prompt, answers } = one({ ...chat, form: { column: 'turns' } }, { turns, answer: '2 7' })
    expect(prompt.text).toBe(chatTemplate.render(turns, { addGenerationPrompt: true }))
    expect(textOf(answers[0]!.ids)).toBe('2 7<|end|>')
  })

  test('leaves out what a template writes behind the end of the turn', () => {
    const promptAsBefore = {
      render: (...[messages, options]: Parameters<typeof chatTemplate.render>) =>
        chatTemplate.render(messages, options) + (options.addGenerationPrompt ? '' : '\n'),
    }
    expect(textOf(one({ ...chat, chatTemplate: promptAsBefore }).answers[0]!.ids)).toBe('2 7<|end|>')
  })

  test('is found where a finished turn lacks what opens a new one, such as an empty thought', () => {
    const thoughtful = {
      render: (...[messages, options]: Parameters<typeof chatTemplate.render>) =>
        chatTemplate.render(messages, options) + (options.addGenerationPrompt ? 'hm ' : ''),
    }
    const { prompt, answers } = one({ ...chat, chatTemplate: thoughtful })
    expect(textOf(prompt.ids).endsWith('hm ')).toBe(true)
    expect(textOf(answers[0]!.ids)).toBe('2 7<|end|>')
  })

  test('comes in the order of the columns', () => {
    const columns = { ...row, chosen: '2 7', rejected: '7 2' }
    const { answers } = one({ ...chat, answers: ['chosen', 'rejected'] }, columns)
    expect(answers.map(({ text }) => text)).toEqual(['2 7', '7 2'])
  })
})

describe('marks', () => {
  test('stand in a column', () => {
    const rows = [
      { ...row, label: true },
      { ...row, label: ' thumbs_down ' },
    ]
    const { examples } = encodeExamples(rows, { ...chat, marks: 'label' }, limits)
    expect(examples.map(({ answers }) => answers.map(({ isGood }) => isGood))).toEqual([[true], [false]])
    expect(() => encodeExamples([row, { ...row, label: 2 }], { ...chat, marks: 'label' }, limits)).toThrow(
      'Row 1 of the data is marked neither good nor bad',
    )
  })

  test('of a pair are known, and its answers stand for themselves', () => {
    const columns = { ...row, chosen: '2 7', rejected: '7 2' }
    const encoder = { ...chat, answers: ['chosen', 'rejected'], marks: [true, false] }
    const { examples } = encodeExamples([columns], encoder, limits)
    expect(examples.map(({ answers }) => answers.map(({ text, isGood }) => [text, isGood]))).toEqual([
      [['2 7', true]],
      [['7 2', false]],
    ])
  })
})

describe('what does not fit', () => {
  test('is left out by the length of prompt and answer together', () => {
    const rows = [row, { ...row, answer: '1 '.repeat(400) }]
    const { examples, tooLong } = encodeExamples(rows, chat, limits)
    expect(examples.map(({ prompt }) => prompt.row)).toEqual([0])
    expect(tooLong).toEqual([1])
    expect(() => encodeExamples([row], chat, { ...limits, maxPromptTokens: 2 })).toThrow('longer than')
  })

  test('names the row and the column', () => {
    const wrong = [undefined, null, [], [{ role: 'user', content: 'x' }], [row, row]]
    for (const answer of wrong) {
      expect(() => encodeExamples([row, { ...row, answer }], chat, limits)).toThrow(
        /Row 2 of the data gives no answer: .*column “answer”/,
      )
    }
  })
})
