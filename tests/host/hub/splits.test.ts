import { describe, expect, test } from 'vitest'
import { frontMatter } from '#host/hub/card.ts'
import { fitsGlob, dataConfigs, isDataFile } from '#host/hub/splits.ts'

/** `config: split=file,file; …` */
const parts = (paths: readonly string[], readme = '') =>
  dataConfigs(paths, frontMatter(readme)).map(
    ({ name, splits }) =>
      `${name}: ${splits.map((split) => `${split.name}=${split.files.join()}`).join('; ')}`,
  )

describe('by their names', () => {
  test.each<[string, string[], string[]]>([
    [
      'shards in their order, whatever the split is called',
      ['data/train_sft-00001-of-00002.parquet', 'data/train_sft-00000-of-00002.parquet', 'README.md'],
      ['default: train_sft=data/train_sft-00000-of-00002.parquet,data/train_sft-00001-of-00002.parquet'],
    ],
    [
      'words in a name',
      ['my_train.jsonl', 'dev.jsonl', 'eval-set.jsonl', 'contest/rows.jsonl'],
      [
        'contest: train=contest/rows.jsonl',
        'default: train=my_train.jsonl; validation=dev.jsonl; test=eval-set.jsonl',
      ],
    ],
    ['words in a folder', ['test/a.csv', 'train/b.csv'], ['default: train=train/b.csv; test=test/a.csv']],
    ['a file alone', ['rows.csv'], ['default: train=rows.csv']],
    [
      'a folder for each config',
      ['main/train-00000-of-00001.parquet', 'socratic/test-00000-of-00001.parquet'],
      [
        'main: train=main/train-00000-of-00001.parquet',
        'socratic: test=socratic/test-00000-of-00001.parquet',
      ],
    ],
    [
      'as the hub converts them',
      ['plain/train/0001.parquet', 'plain/train/0000.parquet', 'plain/my-part/0000.parquet'],
      ['plain: train=plain/train/0000.parquet,plain/train/0001.parquet; my-part=plain/my-part/0000.parquet'],
    ],
    [
      'numbers by their value, one format of several',
      ['part-10.jsonl', 'part-9.jsonl', 'all.csv', '.cache/x.jsonl', 'dataset_infos.json'],
      ['default: train=part-9.jsonl,part-10.jsonl'],
    ],
    ['nothing', ['load.py', 'README.md', 'rows.zip'], []],
  ])('%s', (_title, paths, expected) => {
    expect(parts(paths).sort()).toEqual(expected.toSorted())
  })

  test('files that are no rows are none', () => {
    expect(['a.parquet', 'b/c.NDJSON'].map(isDataFile)).toEqual([true, true])
    expect(['config.json', '__pycache__/a.json', '.x/a.csv', 'a.txt', 'parquet'].some(isDataFile)).toBe(false)
  })
})

const readme = (yaml: string) => `---\nlicense: mit\n${yaml}\n---\n# Rows\n`

describe('by the README', () => {
  const paths = [
    'main/train-0.parquet',
    'main/train-1.parquet',
    'main/test.parquet',
    'extra/b.csv',
    'extra/a.csv',
    'x.jsonl',
  ]

  test('configs with their splits; the usual one is first', () => {
    const yaml = `configs:
- config_name: extra
  data_files: extra/*.csv
- config_name: main
  default: true
  data_files:
  - split: train
    path: main/train-*
  - split: heldout
    path: ["main/test.parquet", "missing.parquet"]
- config_name: gone
  data_files: gone/*`
    expect(parts(paths, readme(yaml))).toEqual([
      'main: train=main/train-0.parquet,main/train-1.parquet; heldout=main/test.parquet',
      'extra: train=extra/a.csv,extra/b.csv',
    ])
  })

  test('a folder for all of a config', () => {
    const yaml =
      'configs:\n- config_name: a\n  data_dir: ./main/\n- data_dir: extra\n  data_files: [b.csv, a.csv]'
    expect(parts(paths, readme(yaml))).toEqual([
      'a: train=main/train-0.parquet,main/train-1.parquet; test=main/test.parquet',
      'default: train=extra/b.csv,extra/a.csv',
    ])
  })

  test.each([
    ['that is no YAML', readme('configs: [')],
    ['whose configs are none', readme('configs: 3')],
    ['that unfolds without end', readme(`a: &a [1,1]\n${bomb()}\nconfigs: *z`)],
    ['that ends nowhere', '---\nconfigs: []'],
  ])('one %s is left alone', (_title, text) => {
    expect(parts(['rows.csv'], text)).toEqual(['default: train=rows.csv'])
  })
})

/** Each name twice the one before. */
function bomb(): string {
  const names = Array.from({ length: 26 }, (_, at) => String.fromCharCode(97 + at))
  return names
    .slice(1)
    .map((name, at) => `${name}: &${name} [*${names[at]!}, *${names[at]!}]`)
    .join('\n')
}

describe('patterns', () => {
  test.each([
    ['data/train-0.parquet', 'data/train-*', true],
    ['data/train-0.parquet', '*', false],
    ['data/train-0.parquet', '**', true],
    ['data/train-0.parquet', '**/*.parquet', true],
    ['train.parquet', '**/*.parquet', true],
    ['a/b/c/d.csv', 'a/**/d.csv', true],
    ['a/d.csv', 'a/**/d.csv', true],
    ['a/b/d.csv', 'a/*.csv', false],
    ['a/1.csv', 'a/?.csv', true],
    ['a/.csv', 'a/?.csv', false],
    ['a/b*a/c', './a/b*a*/c', true],
  ])('%s, %s: %s', (path, pattern, fits) => {
    expect(fitsGlob(path, pattern)).toBe(fits)
  })

  test('come to an end, however they are built', () => {
    expect(fitsGlob('a'.repeat(5000), `${'a*'.repeat(2000)}b`)).toBe(false)
    expect(fitsGlob(`${'a/'.repeat(500)}b`, '**/a/'.repeat(500))).toBe(false)
  })
})
