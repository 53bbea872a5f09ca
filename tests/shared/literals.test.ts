import { expect, test } from 'vitest'
import { parsedLiteral, pythonLiteral } from '#shared/literals.ts'

// Written by Python 3 and NumPy: repr([...]) and str(np.array([...], dtype=object)).
test.each<[string, unknown]>([
  [String.raw`['a\'b"c', "it's", 'a\\n\n', '\xe9\u0661']`, ['a\'b"c', "it's", 'a\\n\n', 'é١']],
  ["{'a': 1, 'b': [True, False, None], 'c': -1.5e-07}", { a: 1, b: [true, false, null], c: -1.5e-7 }],
  ["[{'a': 'x'}\n {'a': 'y'}]", [{ a: 'x' }, { a: 'y' }]],
  ["('a', 'b')", ['a', 'b']],
  ["array(['a', 'b'], dtype=object)", null],
  ["{'t': array(['a'], dtype=object)}", { t: ['a'] }],
  ["[('a', 1)]", [['a', 1]]],
  ['[]', []],
])('%s', (text, value) => {
  expect(pythonLiteral(text)).toEqual(value)
})

test.each([
  '[1, 2',
  "['a' + 'b']",
  '[x]',
  "{'a'}",
  "{'a': 1} b",
  'text',
  '[__import__("os")]',
  '['.repeat(100),
  '(a) yes',
])('%s is no literal', (text) => {
  expect(pythonLiteral(text)).toBeNull()
})

test('JSON comes first, and names that objects inherit are plain keys', () => {
  expect(parsedLiteral('["a"]')).toEqual(['a'])
  expect(Object.keys(parsedLiteral("{'__proto__': 1}") as object)).toEqual(['__proto__'])
})
