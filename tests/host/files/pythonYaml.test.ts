import { expect, test } from 'vitest'
import { accelerateFileOf } from '#host/engines/launch.ts'
import { pythonYaml } from '#host/files/pythonYaml.ts'
import { parseYaml } from '#host/files/yaml.ts'

/** Compared with PyYAML 6's safe_load, whose texts of an exponent were given to float(). */
const scalars: readonly (readonly [written: string, value: unknown])[] = [
  ...['yes', 'On', 'TRUE'].map((word) => [word, true] as const),
  ...['no', 'Off', 'FALSE', 'NO'].map((word) => [word, false] as const),
  ...['y', 'N', 'yEs', 'none', '"no"', '089', '0o17', '1,000', '0:30', '-.nan'].map(
    (text) => [text, text.replaceAll('"', '')] as const,
  ),
  ...([
    ['016', 14],
    ['-0x1F', -31],
    ['0b1_0', 2],
    ['1_000', 1000],
    ['1:30', 90],
    ['1:30.5', 90.5],
  ] as const),
  ...([
    ['1e-6', 1e-6],
    ['1.0e5', 1e5],
    ['+.5e3', 500],
    ['.5', 0.5],
    ['5.', 5],
    ['-.Inf', -Infinity],
  ] as const),
  ...['~', 'Null', ''].map((none) => [none, null] as const),
  ['2026-01-01', '2026-01-01'],
]

test.each(scalars)('%s', (written, value) => {
  expect(parseYaml(`a: ${written}`, { ...pythonYaml, maxAliasCount: 1 })).toEqual({ a: value })
})

test('sections are merged, and no directive changes the reading', () => {
  const text = '%YAML 1.2\n---\na: &a {b: no, c: 1}\nd: {<<: *a, c: 2}\n'
  const read = parseYaml(text, { ...pythonYaml, maxAliasCount: 5 })
  expect(read).toEqual({ a: { b: false, c: 1 }, d: { b: false, c: 2 } })
})

test('a config of accelerate is read so, too', () => {
  expect(accelerateFileOf('use_cpu: yes\ndistributed_type: NO')).toMatchObject({
    use_cpu: true,
    distributed_type: 'NO',
  })
})
