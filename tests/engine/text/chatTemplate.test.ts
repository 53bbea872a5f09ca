import { describe, expect, test } from 'vitest'
import { createChatTemplate } from '#engine/text/chatTemplate.ts'
import type { ChatMessage } from '#shared/messages.ts'

const chatml =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

const messages: ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Sort 7 2 9' },
]
const create = (
  chat_template: unknown,
  rest: Record<string, unknown> = {},
  templateFile: string | null = null,
) => createChatTemplate({ tokenizerConfig: { chat_template, ...rest }, templateFile, where: 'tiny' })
const render = (chat_template: unknown, rest: Record<string, unknown> = {}) =>
  create(chat_template, rest)?.render(messages, { addGenerationPrompt: true })

describe('createChatTemplate', () => {
  test('writes ChatML', () => {
    expect(render(chatml)).toBe(
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nSort 7 2 9<|im_end|>\n<|im_start|>assistant\n',
    )
  })

  test('leaves the generation prompt out when not asked for', () => {
    expect(create(chatml)?.render(messages, { addGenerationPrompt: false })).toMatch(/<\|im_end\|>\n$/)
  })

  test('leaves the last message open to be continued', () => {
    const opened = [...messages, { role: 'assistant', content: '2 7' }]
    expect(
      create(chatml)?.render(opened, { addGenerationPrompt: false, continueFinalMessage: true }),
    ).toMatch(/assistant\n2 7$/)
  })

  test('takes the default of several named templates', () => {
    const named = [
      { name: 'tool_use', template: 'tools' },
      { name: 'default', template: 'plain' },
    ]
    expect(render(named)).toBe('plain')
  })

  test('prefers chat_template.jinja', () => {
    expect(create('config', {}, 'file')?.render(messages, { addGenerationPrompt: true })).toBe('file')
  })

  test('knows the special tokens, as text or object', () => {
    const config = { bos_token: '<s>', eos_token: { content: '</s>' } }
    expect(render('{{ bos_token }}|{{ eos_token }}|{{ pad_token }}', config)).toBe('<s>|</s>|')
  })

  test('is null for a model without one', () => {
    expect(createChatTemplate({ tokenizerConfig: null, templateFile: null, where: 'tiny' })).toBeNull()
  })

  test('takes the template for tools where tools are given', () => {
    const named = [
      { name: 'tool_use', template: '{{ tools[0].name }}' },
      { name: 'default', template: '{{ tools }}' },
    ]
    const options = { addGenerationPrompt: false, tools: [{ name: 'weather' }] }
    expect(create(named)?.render(messages, options)).toBe('weather')
    expect(render(named)).toBe('None')
  })

  test('refuses messages where several templates are named and none is the default, as transformers does', () => {
    const named = [
      { name: 'tool_use', template: 'tools' },
      { name: 'rag', template: 'documents' },
    ]
    expect(() => render(named)).toThrow(/called tool_use, rag, and none of them “default”/)
    expect(create(named)?.render(messages, { addGenerationPrompt: false, tools: [] })).toBe('tools')
  })

  test.each([
    ['line feeds', '\n'],
    ['carriage returns and line feeds', '\r\n'],
    ['carriage returns', '\r'],
  ])('reads lines that end in %s as Jinja does', (_, end) => {
    const template = [
      '{% for m in messages %}',
      "  {%- if m.role == 'user' %}",
      `{{ 'a${end}b' }}`,
      '    {# note #}',
      "{{ '<' + m.content + '>' }}",
      '{% endif %}',
      '{% endfor %}',
      '{% if add_generation_prompt %}',
      "  {{ 'c\\r\\n' }}|{% endif %}",
      '',
      '',
    ].join(end)
    const turns = [{ role: 'user', content: 'x\r\ny' }]
    const expected = 'a\nb\n<x\r\ny>\n  c\r\n|'
    const single = create(template)
    const named = create([{ name: 'default', template }])
    const file = create(null, {}, template)
    const additional = createChatTemplate({
      tokenizerConfig: null,
      templateFile: null,
      additionalTemplates: new Map([['default', template]]),
      where: 'tiny',
    })
    const texts = [single, named, file, additional].map((each) =>
      each?.render(turns, { addGenerationPrompt: true }),
    )
    expect(texts).toEqual([expected, expected, expected, expected])
  })

  test('sets switches by their names, and none of them takes the place of the messages', () => {
    const template =
      '{{ enable_thinking is defined }} {{ enable_thinking }} {{ level + 1 }} {{ messages | length }}'
    const variables = { enable_thinking: false, level: 2, messages: [] }
    expect(create(template)?.render(messages, { addGenerationPrompt: false, variables })).toBe(
      'True False 3 2',
    )
  })

  test('keeps what a round wrote before it was cut short', () => {
    const template =
      '{% for i in range(9) %}{{ i }}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %},{% endfor %}'
    expect(render(template)).toBe('0,12,3')
  })

  test('forgets between rounds what a round set', () => {
    expect(render('{% for i in range(3) %}{{ x }}{% set x = i %}{% endfor %}{{ x }}|')).toBe('|')
  })

  test('writes the same date whatever the day', () => {
    expect(render("{{ strftime_now('%d %b %Y') }}")).toBe('26 Jul 2024')
  })

  test('writes the time it is given as Python writes it', () => {
    // datetime(2026, 3, 5, 14, 7, 9).strftime(…)
    const format = '%d %b %Y|%A %-d %B %y|%j %e|%H:%M:%S %I %p|%F %T %D|%a %w %u|%%|%z%Z'
    const now = new Date(2026, 2, 5, 14, 7, 9)
    const text = create(`{{ strftime_now('${format}') }}`)?.render(messages, {
      addGenerationPrompt: false,
      now,
    })
    expect(text).toBe(
      '05 Mar 2026|Thursday 5 March 26|064  5|14:07:09 02 PM|2026-03-05 14:07:09 03/05/26|Thu 4 4|%|',
    )
  })

  test('keeps range and loops working within their limits, and attributes of that name', () => {
    expect(render('{% for i in range(1, 8, 3) %}{{ i }}{% endfor %}')).toBe('147')
    expect(render('{% set box = {"range": "wide"} %}{{ box.range }}')).toBe('wide')
  })

  test.each([
    ['a syntax error', '{% for %}'],
    ['an unclosed block', '{% if true %}'],
    ['a wrong type', 7],
    ['a list without templates', [{}]],
    ['its own refusal', "{{ raise_exception('Roles must alternate') }}"],
    ['a call of nothing', '{{ nothing() }}'],
    ['loops without end', '{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}'],
    [
      'loops that skip to the next round',
      '{% for a in range(9999) %}{% for b in range(9999) %}{% continue %}{% endfor %}{% endfor %}',
    ],
    ['a huge range', '{{ range(1000000000) | length }}'],
    [
      'a text that doubles without end',
      '{% set ns = namespace(s="x") %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}',
    ],
    [
      'a list that doubles without end',
      '{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}',
    ],
    ['a text repeated without end', '{{ "x" * 1000000000 }}'],
    ['a replacement that grows without end', '{{ ("a" * 100000).replace("a", "b" * 100000) }}'],
    ['output without end', '{% for i in range(9000) %}{{ "x" * 100000 }}{% endfor %}'],
    ['a way out of the template', '{{ messages.constructor.constructor("return process")() }}'],
    ['a filter that is none', '{{ messages | constructor }}'],
    ['endless recursion', '{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}'],
  ])('%s is one sentence', (_, template) => {
    expect(() => render(template)).toThrow(
      expect.objectContaining({
        code: 'tokenizer/invalid',
        message: expect.stringContaining('tiny') as string,
      }),
    )
  })

  test("passes on the template's own words", () => {
    expect(() => render("{{ raise_exception('Roles must alternate') }}")).toThrow(/Roles must alternate/)
  })
})
