import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createChatTemplate } from '#engine/text/chatTemplate.ts'
import type { ChatMessage } from '#shared/messages.ts'

interface Case {
  readonly template: string
  readonly conversation: string
  readonly addGenerationPrompt?: boolean
  readonly continueFinalMessage?: boolean
  readonly variables: Readonly<Record<string, unknown>>
  readonly text?: string
  readonly error?: string
}

interface Expected {
  readonly special: Readonly<Record<string, string>>
  readonly tools: readonly unknown[]
  readonly conversations: Readonly<Record<string, readonly ChatMessage[]>>
  readonly cases: readonly Case[]
}

const root = new URL('../../fixtures/tokenizers/templates/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, root), 'utf8')
const { special, tools, conversations, cases } = JSON.parse(read('expected.json')) as Expected

/** The text, or the refusal. */
function render(
  { conversation, addGenerationPrompt = false, continueFinalMessage = false, variables }: Case,
  template: ReturnType<typeof createChatTemplate>,
): string | undefined {
  const { tools: hasTools, ...others } = variables
  const options = {
    addGenerationPrompt,
    continueFinalMessage,
    variables: others,
    ...(hasTools === true ? { tools } : {}),
  }
  try {
    return template?.render(conversations[conversation] ?? [], options)
  } catch (error) {
    return String(error)
  }
}

describe.each([...new Set(cases.map(({ template }) => template))])('%s', (name) => {
  const template = createChatTemplate({
    tokenizerConfig: special,
    templateFile: read(`${name}.jinja`),
    where: name,
  })
  const own = cases.filter((entry) => entry.template === name)

  test(`writes all ${own.length} texts and refusals of transformers`, () => {
    expect(own.length).toBeGreaterThan(5)
    const found = own.map((entry) => ({ ...entry, text: render(entry, template) }))
    const expected = own.map((entry) => ({
      ...entry,
      text: entry.error === undefined ? entry.text : (expect.stringContaining(entry.error) as string),
    }))
    expect(found).toEqual(expected)
  })
})

test('arguments as text reach the template as the values that Python would read', () => {
  const template = createChatTemplate({
    tokenizerConfig: null,
    templateFile: '{{ messages[0].tool_calls[0].function.arguments | tojson }}',
    where: 'test',
  })
  const rendered = (written: string) =>
    template?.render(
      [{ role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: written } }] }],
      { addGenerationPrompt: false },
    )
  expect(rendered('{"id":-12345678901234567890,"x":1.0,"y":1e5,"t":"1.0","n":[2]}')).toBe(
    '{"id": -12345678901234567890, "x": 1.0, "y": 100000.0, "t": "1.0", "n": [2]}',
  )
  expect(rendered('not JSON')).toBe('"not JSON"')
})
