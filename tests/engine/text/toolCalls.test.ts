import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { toolFormOf, toolForms, type ToolForm } from '#engine/text/toolCalls.ts'

interface Case {
  readonly form: string
  /** False for an answer that was broken by an edit. */
  readonly whole: boolean
  readonly text: string
  readonly tools?: readonly unknown[]
  /** What transformers reads; null: it refuses. */
  readonly expected: readonly { readonly name: string; readonly arguments: object }[] | null
}

/** Of another file than the one kept here: made by `make.py 500 FILE`. */
const file =
  process.env['TURNWISE_TOOL_CALLS'] ?? path.join(import.meta.dirname, '../../fixtures/tools/calls.json')
const cases = JSON.parse(readFileSync(file, 'utf8')) as readonly Case[]

/** Both of Mistral's ways are one form here. */
function formOf(name: string): ToolForm {
  const found = toolForms.find(({ id }) => id === name.replace('-named', ''))
  if (found === undefined) throw new Error(`Expected the form ${name}.`)
  return found
}

const read = ({ form, text, tools = [] }: Case) =>
  formOf(form)
    .parse(text, tools)
    ?.calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) as object })) ?? []

const names = [...new Set(cases.map(({ form }) => form))]

test.each(names)('calls in the form %s are those that transformers reads, or are refused', (name) => {
  const all = cases.filter(({ form }) => form === name)
  const mistaken = all.filter((each) => {
    const calls = read(each)
    return calls.length > 0 && JSON.stringify(sorted(calls)) !== JSON.stringify(sorted(each.expected))
  })
  expect(mistaken).toEqual([])
})

test.each(names)('no whole answer in the form %s is refused that transformers reads', (name) => {
  const whole = cases.filter(({ form, whole, expected }) => form === name && whole && expected !== null)
  expect(whole.length).toBeGreaterThan(8)
  expect(whole.filter((each) => read(each).length !== each.expected?.length)).toEqual([])
})

/** With the fields of every object in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]): [string, unknown] => [key, sorted(inner)])
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

test('what an unfinished answer may still turn into a call is held', () => {
  for (const each of cases.filter(({ whole }) => whole)) {
    const form = formOf(each.form)
    if (read(each).length === 0) continue
    const told = each.text.slice(0, form.held(each.text))
    for (let length = 0; length <= each.text.length; length += 1)
      expect(told.startsWith(each.text.slice(0, form.held(each.text.slice(0, length))))).toBe(true)
  }
})

test('a long integer stays as it was written', () => {
  const text = '<tool_call>{"name": "f", "arguments": {"id": 12345678901234567890, "x": 1.0}}</tool_call>'
  expect(formOf('hermes').parse(text, [])?.calls).toEqual([
    { name: 'f', arguments: '{"id":12345678901234567890,"x":1.0}' },
  ])
})

test('what is said besides calls is the content', () => {
  const call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
  expect(formOf('hermes').parse(`Let me see.\n${call}\n${call}\n`, [])).toMatchObject({
    content: 'Let me see.',
    calls: [{ name: 'f' }, { name: 'f' }],
  })
})

test('a message of gpt-oss with its recipient behind the channel is a call', () => {
  const text =
    '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x": 1}'
  expect(formOf('harmony').parse(text, [])).toEqual({
    content: '',
    calls: [{ name: 'f', arguments: '{"x":1}' }],
  })
})

test.each([
  ['qwen25', 'hermes'],
  ['qwen3', 'hermes'],
  ['granite', 'granite'],
  ['llama31', 'llama'],
  ['mistral', 'mistral'],
  ['smollm3', null],
  ['gemma2', null],
  ['gemma3', null],
  ['phi3', null],
])('the form of the template %s is %s', (name, id) => {
  const template = readFileSync(
    path.join(import.meta.dirname, `../../fixtures/tokenizers/templates/${name}.jinja`),
    'utf8',
  )
  expect(toolFormOf(template)?.id ?? null).toBe(id)
})
