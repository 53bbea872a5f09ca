/**
 * Scalars of YAML as Python programs read them with PyYAML's safe_load, that is by YAML 1.1: `no` and `off` are false, `016` is
 * 14, `1:30` is 90. Two kinds are read as the programs use them afterwards: `1e-6`, a text to PyYAML, is a number, and a date is
 * its text.
 */
import type { ScalarTag, Tags } from 'yaml'

const words = (kind: string, value: boolean, test: RegExp): ScalarTag => ({
  default: true,
  tag: 'tag:yaml.org,2002:bool',
  format: kind,
  test,
  resolve: () => value,
})

const numbers = (kind: 'int' | 'float', test: RegExp, read: (digits: string) => number): ScalarTag => ({
  default: true,
  tag: `tag:yaml.org,2002:${kind}`,
  test,
  resolve: (written) => {
    const digits = written.replaceAll('_', '')
    return digits.startsWith('-') ? -read(digits.slice(1)) : read(digits.replace(/^\+/, ''))
  },
})

const sixties = (digits: string): number =>
  digits.split(':').reduce((sum, part) => 60 * sum + Number(part), 0)
const special: Readonly<Record<string, number>> = { '.inf': Infinity, '.nan': NaN }

const scalars: readonly ScalarTag[] = [
  words('YES', true, /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/),
  words('NO', false, /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/),
  numbers('int', /^[-+]?0b[01_]+$/, (digits) => parseInt(digits.slice(2), 2)),
  numbers('int', /^[-+]?0[0-7_]+$/, (digits) => parseInt(digits, 8)),
  numbers('int', /^[-+]?(?:0|[1-9][0-9_]*)$/, Number),
  numbers('int', /^[-+]?0x[0-9a-fA-F_]+$/, (digits) => parseInt(digits.slice(2), 16)),
  numbers('int', /^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+$/, sixties),
  numbers('float', /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?$/, Number),
  numbers('float', /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*$/, sixties),
  numbers(
    'float',
    /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
    (word) => special[word.toLowerCase()] ?? 0,
  ),
  // Texts to PyYAML, which programs give to float().
  numbers('float', /^[-+]?(?:[0-9]+(?:_[0-9]+)*\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+(?:_[0-9]+)*$/, Number),
]

const replaced = /:(?:bool|int|float|timestamp|binary|omap|pairs|set)$/

/** Options of a reading. */
export const pythonYaml = {
  version: '1.1',
  schema: 'yaml-1.1',
  customTags: (tags: Tags): Tags => [
    ...tags.filter((tag) => typeof tag === 'string' || !replaced.test(tag.tag)),
    ...scalars,
  ],
} as const
