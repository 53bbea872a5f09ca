import { expect, test } from 'vitest'
import { sentFiles } from '#renderer/client/adding.ts'
import { kindOfFolder, kindOfName } from '#renderer/client/fileDialog.ts'

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
