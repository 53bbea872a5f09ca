/** What the guide says of keys, memory and messages is what the program says. */
import { readFileSync, globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { keyTable } from '#shared/keyTable.ts'
import { parameterCount } from '#host/devices/deviceChoice.ts'
import { memoryFit } from '#host/devices/memoryFit.ts'
import { readKnownModels } from '#host/hub/knownModels.ts'

const page = (name: string): string => readFileSync(`docs/guide/${name}.md`, 'utf8')

test('the key sheet has every key of the table, in its groups, and no other', () => {
  const names: Readonly<Record<string, string>> = {
    Slash: '/',
    Comma: ',',
    BracketLeft: '[',
    BracketRight: ']',
  }
  const wordsOf = (key: string): string =>
    key === 'Shift+Slash'
      ? '?'
      : key
          .split('+')
          .map((part) => names[part] ?? part.replace(/^(?:Key|Digit)/, ''))
          .join(' ')
  const rows = Object.values(keyTable)
  const expected = [...new Set(rows.map(({ group }) => group))].flatMap((group) => [
    `**${group}**`,
    ...rows
      .filter((row) => row.group === group)
      .map(({ label, keys }) => `- ${label}: ${keys.map((key) => `\`${wordsOf(key)}\``).join(', ')}`),
  ])
  expect(page('keys').match(/^(?:\*\*|- ).*$/gm)).toEqual(expected)
})

test('the memory of each model of the table is what Models shows on a machine that holds no more', () => {
  const rows = Array.from(page('memory').matchAll(/^\| `(.+?)` \| (\S+) \| (\S+) \| (\S+) \|$/gm))
  expect(rows.length).toBeGreaterThan(3)
  for (const [, id = '', ...shown] of rows) {
    const model = readKnownModels().find((known) => known.id === id)
    expect(model, id).toBeDefined()
    const parameters = parameterCount(model!.config)
    let memory = Infinity
    const needed = ['f32', 'int8', 'int4'].map((precision) => {
      const { fits, trainingBytes } = memoryFit(model!.config, parameters, memory)
      expect(fits).toBe(precision)
      memory = trainingBytes - 1
      return (trainingBytes / 1e9).toFixed(1)
    })
    expect(shown, id).toEqual(needed)
  }
})

test('every message that the troubleshooting page quotes is one of the program', () => {
  const messages = Array.from(
    page('troubleshooting').matchAll(/^\| “(.*)” \|/gm),
    ([, message = '']) => message,
  )
  expect(messages.length).toBeGreaterThan(15)
  const sources = globSync(['src/{host,cli,engine,rl,main,shared}/**/*.ts', 'bin/*.mjs'])
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  const parts = messages.flatMap((message) => message.split(/ ?“?…”? ?|signal SIGKILL/))
  expect(parts.filter((part) => !sources.includes(part))).toEqual([])
})
