import { expect, test } from 'vitest'
import { sentFiles } from '#renderer/client/adding.ts'
import {
  dataFilter,
  isOfFilters,
  kindOfFolder,
  kindOfName,
  withoutDataEnding,
} from '#renderer/client/fileDialog.ts'

test.each([
  ['tasks.CSV', 'data'],
  ['rows.jsonl', 'data'],
  ['table.parquet', 'data'],
  ['reward.ts', 'reward'],
  ['SmolLM2-135M-Instruct.Q4_1.gguf', 'model'],
  ['picture.png', 'unknown'],
  ['README', 'unknown'],
])('%s is %s', (name, kind) => {
  expect(kindOfName(name)).toBe(kind)
})

test.each([
  ['rows.jsonl', 'rows'],
  ['ROWS.JSONL', 'ROWS'],
  ['Rows.Parquet', 'Rows'],
  ['rows.csv.gz', 'rows'],
  ['ROWS.NDJSON.ZST', 'ROWS'],
])('%s is data, offered by the dialog and named %s', (file, name) => {
  expect(kindOfName(file)).toBe('data')
  expect(isOfFilters(file, [dataFilter])).toBe(true)
  expect(withoutDataEnding(file)).toBe(name)
})

test.each(['rows.txt', 'jsonl', 'openai/gsm8k.main'])('%s is not data by its name', (file) => {
  expect(isOfFilters(file, [dataFilter])).toBe(false)
  expect(withoutDataEnding(file)).toBe(file)
})

test('a folder is what its files make it', () => {
  expect(kindOfFolder(['config.json', 'model.safetensors'])).toBe('model')
  expect(kindOfFolder(['adapter_config.json', 'adapter_model.safetensors', 'config.json'])).toBe('adapter')
  expect(kindOfFolder(['SmolLM2.gguf'])).toBe('model')
  expect(kindOfFolder(['notes.txt'])).toBe('unknown')
})

test('of a folder, GGUF files are sent only where they are its weights, and then one', () => {
  const sent = (...names: string[]) => sentFiles(names.map((name) => ({ name }))).map(({ name }) => name)
  expect(sent('config.json', 'model.safetensors', 'model.gguf', 'model.bin')).toEqual([
    'config.json',
    'model.safetensors',
  ])
  expect(sent('README.md', 'model.gguf')).toEqual(['README.md', 'model.gguf'])
  expect(() => sent('a.gguf', 'b.gguf')).toThrow('2 GGUF files')
})
