/** Rows as prompts: what the chat template gets besides the messages. */
import { describe, expect, test } from 'vitest'
import { createChatTemplate } from '#engine/text/chatTemplate.ts'
import { encodeExamples } from '#rl/rollout/examples.ts'
import { type DataRow, promptText, withSwitches } from '#rl/rollout/prompts.ts'
import { createTokenizer } from '#engine/text/tokenizer.ts'
import { smallTokenizerConfig, smallTokenizerJson } from '../../engine/text/fixtures.ts'

const source =
  '{% for tool in tools or [] %}[{{ tool.name }}]{% endfor %}{% for m in messages %}<{{ m.content }}>{% endfor %}' +
  '{% if add_generation_prompt %}{{ "think" if enable_thinking else "answer" }}{% endif %}'
const chatTemplate = createChatTemplate({ tokenizerConfig: {}, templateFile: source, where: 'tiny' })!
const form = { messages: [{ role: 'user', content: '{question}' }] }
const textOf = (columns: DataRow, tools: string | null = 'tools') =>
  promptText({ question: 'q', ...columns }, 4, { form, chatTemplate, tools }).text

describe('the variables of a row', () => {
  const template = createChatTemplate({
    tokenizerConfig: null,
    templateFile: '{{ mood }}{{ style }}{% for m in messages %}<{{ m.content }}>{% endfor %}',
    where: 'test',
  })
  const textWith = (given: unknown) =>
    promptText({ question: 'q', chat_template_kwargs: given }, 4, {
      form,
      chatTemplate: withSwitches(template, { mood: 'calm' }),
    }).text

  test.each([
    [{ mood: 'loud', style: null }, 'loud<q>'],
    ['{"style": "!"}', 'calm!<q>'],
    [null, 'calm<q>'],
  ])('win over those of the run: %j', (given, text) => {
    expect(textWith(given)).toBe(text)
  })

  test('are an object', () => {
    expect(() => textWith([1])).toThrow(
      'Row 5 of the data cannot be turned into a prompt: column “chat_template_kwargs” does not hold an object.',
    )
  })
})

describe('the tools of a row', () => {
  test.each([
    ['a list', [{ name: 'weather' }, { name: 'now' }]],
    ['the text of a list', '[{"name": "weather"}, {"name": "now"}]'],
  ])('are written by the chat template: %s', (_, tools) => {
    expect(textOf({ tools })).toBe('[weather][now]<q>answer')
  })

  test('may be one list for all rows', () => {
    const tools = [{ name: 'weather' }]
    expect(promptText({ question: 'q', tools: 'not read' }, 4, { form, chatTemplate, tools }).text).toBe(
      '[weather]<q>answer',
    )
  })

  test.each([undefined, null, '', []])('may be missing: %j', (tools) => {
    expect(textOf({ tools })).toBe('<q>answer')
  })

  test('are left alone where the config names no column', () => {
    expect(textOf({ tools: [{ name: 'weather' }] }, null)).toBe('<q>answer')
  })

  test.each(['not JSON', '{"name": "weather"}', 7])(
    'that are no list are an error naming the row: %j',
    (tools) => {
      expect(() => textOf({ tools })).toThrow(/Row 5 .*column “tools” does not hold a list of tools/)
    },
  )

  test('stand before an answer too, which begins behind them', () => {
    const tokenizer = createTokenizer({
      tokenizerJson: smallTokenizerJson(),
      tokenizerConfig: smallTokenizerConfig,
      where: 'tiny',
    })
    const whole = createChatTemplate({
      tokenizerConfig: {},
      templateFile: source.replace(/\{% if add.*/, ''),
      where: 'tiny',
    })
    const columns = { question: 'the cat', answer: 'sat', tools: [{ name: 'the' }] }
    const encoder = {
      form,
      chatTemplate: whole,
      tools: 'tools',
      tokenizer,
      stopIds: [1],
      answers: ['answer'],
    }
    const [example] = encodeExamples([columns], encoder, { maxPromptTokens: 99, maxTokens: 99 }).examples
    const text = (ids: Int32Array) => tokenizer.decode(ids, { skipSpecialTokens: true })
    expect([text(example!.prompt.ids), text(example!.answers[0]!.ids)]).toEqual(['[the]<the cat>', '<sat>'])
  })
})

describe('withSwitches', () => {
  const render = (variables: Record<string, boolean>) =>
    withSwitches(chatTemplate, variables)?.render([{ role: 'user', content: 'q' }], {
      addGenerationPrompt: true,
    })

  test('sets the switches of the run in every rendering', () => {
    expect(render({ enable_thinking: true })).toBe('<q>think')
    expect(render({ enable_thinking: false })).toBe('<q>answer')
    expect(render({})).toBe('<q>answer')
  })

  test('leaves a missing template missing', () => {
    expect(withSwitches(null, { enable_thinking: true })).toBeNull()
  })
})
