/** What a file says about its data sets: taken, or named with the reason why not. */
import { describe, expect, test } from 'vitest'
import { importConfig } from '#host/exchange/importConfig.ts'

const read = (text: string) => importConfig(text, null, { home: '/home/me' })
const textsOf = (text: string): string[] => read(text).notes.map((note) => note.text)

const axolotl = (rows: string, others = '') =>
  `base_model: a/b\nsequence_len: 512\nmicro_batch_size: 2\nadapter: lora\n${others}datasets:\n  - ${rows}\n`
const pairs = (rows: string) => axolotl(rows, 'rl: dpo\n')
const trl = (rows: string) =>
  `model_name_or_path: a/b\nbeta: 0.1\nmax_prompt_length: 64\nmax_length: 512\n${rows}\n`

describe('no key of a data set vanishes', () => {
  test.each([
    ['datasets', axolotl('{path: x.jsonl, type: chat_template, odd: 1}')],
    ['datasets', pairs('{path: x.jsonl, type: chat_template.default, odd: 1}')],
    ['datasets.type', axolotl('{path: x.jsonl, type: {field_output: a, odd: 1}}')],
    ['datasets.type', pairs('{path: x.jsonl, type: {field_chosen: a, odd: 1}}')],
    ['test_datasets', axolotl('{path: x.jsonl}', 'test_datasets:\n  - {path: y.jsonl, odd: 1}\n')],
    ['dataset_mixture.datasets', trl('dataset_mixture:\n  datasets:\n    - {id: x/y, odd: 1}')],
    ['datasets', trl('datasets:\n  - {path: x/y, odd: 1}')],
  ])('%s (%#)', (name, text) => {
    expect(textsOf(text)).toContain(
      `${name}.odd (1) was skipped: it is not among the keys that Turnwise knows there.`,
    )
  })

  test('nor does a share', () => {
    expect(textsOf(trl('dataset_mixer: {x/y: 0.5}'))).toContain(
      'dataset_mixer: the share 0.5 of x/y was skipped: Turnwise takes all rows of the data set.',
    )
    expect(textsOf(trl('dataset_mixer: {x/y: 1}')).join()).not.toContain('share')
    const mixture = textsOf(
      trl('dataset_mixture:\n  datasets:\n    - {path: x/y, columns: [a], weight: 0.25}'),
    )
    expect(mixture).toContain(
      'dataset_mixture.datasets.weight (0.25) was skipped: Turnwise takes all rows of the data set.',
    )
    expect(mixture.join()).toContain('dataset_mixture.datasets.columns (["a"]) was skipped')
  })

  test.each([
    ['roles_to_train', '[user]', 'learns only the last answer'],
    ['train_on_eos', 'none', 'learns only the last answer'],
    ['chat_template', 'llama3', 'uses the chat template of the model'],
    ['shards', '10', 'takes all rows'],
    ['field_messages', 'chat', 'the import of the rows looks for'],
  ])('%s is left aside with its own reason', (key, value, reason) => {
    const texts = textsOf(axolotl(`{path: x.jsonl, type: chat_template, ${key}: ${value}}`))
    expect(texts.find((text) => text.startsWith(`datasets.${key} `))).toContain(reason)
  })
})

describe('axolotl’s pairs', () => {
  test.each([
    ['{path: x, type: {field_prompt: q, field_chosen: worse, field_rejected: better}}', 'q'],
    [
      '{path: x, type: chat_template.default, field_messages: q, field_chosen: worse, field_rejected: better}',
      'q',
    ],
    ['{path: x, type: user_defined.default, field_chosen: worse, field_rejected: better}', 'prompt'],
  ])('have the columns that the file names: %s', (rows, column) => {
    const { config } = read(pairs(rows))
    expect(config.data).toMatchObject({ prompt: { column }, chosen: 'worse', rejected: 'better' })
  })

  test('have a text around the prompt', () => {
    const rows =
      '{path: x, type: {field_prompt: q, prompt_format: "Q: {prompt}", chosen_format: "{chosen}!"}}'
    const { config } = read(pairs(rows))
    expect(config.data.prompt).toEqual({ messages: [{ role: 'user', content: 'Q: {q}' }] })
    const texts = textsOf(pairs(rows))
    expect(texts).toContain(
      'datasets.type.prompt_format: axolotl gives the model such a text as it is; here it is a message in the chat template of the model.',
    )
    expect(texts.join()).toContain('datasets.type.chosen_format ({chosen}!) was skipped')
  })
})

describe('axolotl’s rows', () => {
  test.each(['alpaca', 'input_output', 'gpteacher'])('of type %s have a text of its own', (type) => {
    expect(textsOf(axolotl(`{path: x.jsonl, type: ${type}}`)).join('\n')).toContain(
      `datasets.type (${type}): axolotl writes such rows in a text of its own, without the chat template`,
    )
  })

  test('of a conversation do not', () => {
    expect(textsOf(axolotl('{path: x.jsonl, type: chat_template}')).join()).not.toContain('datasets.type')
  })

  test('are in files beside the format that opens them', () => {
    const rows = '{path: json, data_files: [a.jsonl, b.jsonl], type: chat_template}'
    expect(read(axolotl(rows)).config.data.train).toBe('a.jsonl')
    expect(textsOf(axolotl(rows))).toContain(
      'datasets: only a.jsonl was taken, the first of 2; left aside: b.jsonl.',
    )
    const split = axolotl('{path: json, data_files: {test: t.jsonl, train: a.jsonl}, type: chat_template}')
    expect(read(split).config.data.train).toBe('a.jsonl')
    expect(textsOf(split)).toContain('datasets.data_files: left aside: test (t.jsonl).')
    expect(textsOf(axolotl('{path: x/y, data_files: a.jsonl, type: chat_template}')).join()).toContain(
      'datasets.data_files (a.jsonl) was skipped',
    )
  })
})

test('an adapter that axolotl goes on with is the start', () => {
  const outcome = read(axolotl('{path: x.jsonl}', 'lora_model_dir: out/first\n'))
  expect(outcome.config.adapter.initial).toBe('out/first')
})

describe('rows in Python', () => {
  const script = (rows: string) =>
    `from datasets import load_dataset\nfrom trl import DPOConfig, DPOTrainer\n${rows}\nDPOTrainer(model="a/b", args=DPOConfig(beta=0.3), train_dataset=ds).train()\n`
  const changed = (methods: string) =>
    `${methods} skipped: nothing in the file is run. Import the rows as the file leaves them, for example with \`turnwise dataset import file.py#function\`.`

  test('in files by split', () => {
    const text = script(
      'ds = load_dataset("json", data_files={"train": "pairs.jsonl", "test": "t.jsonl"}, split="train")',
    )
    expect(read(text).config.data.train).toBe('pairs.jsonl')
    expect(textsOf(text)).toContain('data_files in load_dataset(…): left aside: test (t.jsonl).')
    const tested = script(
      'ds = load_dataset("json", data_files={"train": "p.jsonl", "dev": "t.jsonl"}, split="dev")',
    )
    expect(read(tested).config.data.train).toBe('t.jsonl')
  })

  test.each([
    ['ds = load_dataset("x/y", split="train").filter(keep).map(swap)', 'filter(…), map(…) on the rows were'],
    ['ds = load_dataset("x/y")\nds = ds["train"].select(range(9))', 'select(…) on the rows was'],
    [
      'raw = load_dataset("x/y")\nds = raw.map(swap)\nds = ds.shuffle(seed=1).filter(keep)',
      'map(…), filter(…) on the rows were',
    ],
  ])('that are changed: %s', (rows, methods) => {
    expect(textsOf(script(rows))).toContain(changed(methods))
  })

  test('that are not changed, and other things that are', () => {
    expect(
      textsOf(script('ds = load_dataset("x/y").shuffle(seed=1)\nnames = table.map(str)')).join(),
    ).not.toContain('on the rows')
  })

  test('of a second data set', () => {
    const rows =
      'ds = load_dataset("x/y")\nmore = load_dataset("x/z")\nsame = load_dataset("x/y", split="test")'
    const texts = textsOf(script(rows)).filter((text) => text.startsWith('load_dataset(…)'))
    expect(texts).toEqual([
      'load_dataset(…) also loads x/z, which was skipped: the first data set was taken.',
    ])
  })
})
