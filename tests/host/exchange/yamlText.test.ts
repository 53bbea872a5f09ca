/** What is written as YAML reads back in Python as it was. */
import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { yamlComment, yamlText } from '#host/exchange/project/yamlText.ts'

const script =
  'import json, sys, yaml; print(json.dumps([yaml.safe_load(each) for each in json.load(sys.stdin)]))'
const read = (documents: readonly string[]) =>
  spawnSync('python3', ['-c', script], { input: JSON.stringify(documents), encoding: 'utf8' })
const isThere = spawnSync('python3', ['-c', 'import yaml']).status === 0

/** Everything that ends a line somewhere, or that a document may not hold. */
const breaks = [
  '\n',
  '\r',
  '\r\n',
  '\u0085',
  '\u2028',
  '\u2029',
  '\u000b',
  '\u000c',
  '\ufeff',
  '\u0000',
  '\u001b',
  '\u007f',
  '\u202e',
  '\u2066',
  '\ud800',
]
const texts = [
  ...breaks.flatMap((at) => [`n${at}key: 1`, `n\n${at}key: 1`, `${at}key: 1`, `n${at}`, `\n${at}\n- 1`]),
  ...[
    'no',
    '1e-8',
    '~',
    '0x10',
    '12:30:45',
    '2026-11-27',
    '# no comment',
    '- item',
    'key: value',
    '{a: 1}',
    "it's",
    '"',
    '\\',
    '',
    ' ',
    '\t',
  ],
  'first line\nlearning: 1e-8\n  deep: 2e+3\n',
  'Ω é 漢字 🙂 \u00a0',
]

describe('yamlText', () => {
  test('shows what turns the direction of later text', () => {
    expect(yamlText({ first: 'a\u202eb\u2066c' })).toBe(String.raw`first: "a\u202eb\u2066c"` + '\n')
  })

  test('has no line that a text brought', () => {
    for (const text of texts) {
      const lines = yamlText({ first: text, trust_remote_code: false }).split(/\r\n|[\n\r\u0085\u2028\u2029]/)
      expect(lines.filter((line) => /^(?:first|trust_remote_code):/.test(line))).toHaveLength(2)
      expect(lines.filter((line) => /^\S/.test(line) && !/^(?:first|trust_remote_code):/.test(line))).toEqual(
        [],
      )
    }
  })

  test('writes numbers with an exponent with a point in them, and leaves texts alone', () => {
    expect(yamlText({ rate: 1e-8, large: -2e21, text: 'a\nrate: 1e-8\n' })).toBe(
      'rate: 1.0e-8\nlarge: -2.0e+21\ntext: |\n  a\n  rate: 1e-8\n',
    )
  })

  test.skipIf(!isThere)(
    `is read by PyYAML as it was${isThere ? '' : ' (skipped: python3 has no yaml)'}`,
    () => {
      const values = texts.flatMap((text) => [
        { text, after: false },
        { [text]: 1 },
        [text],
        { list: [{ text }] },
      ])
      const { stdout, stderr } = read(values.map(yamlText))
      expect(stderr).toBe('')
      const whole = values.filter((value) => !JSON.stringify(value).includes('\\ud800')) // half a sign is no text in Python
      const found = (JSON.parse(stdout) as unknown[]).filter((_, at) => whole.includes(values[at]!))
      expect(found).toEqual(whole)
    },
  )
})

test('a comment stays one, whatever ends its lines', () => {
  for (const at of breaks)
    for (const line of yamlComment(`one${at}key: 1`).split(/[\n\r\u0085\u2028\u2029]/))
      expect(line === '' || line.startsWith('# ')).toBe(true)
})
