import { expect, test } from 'vitest'
import { kindOfFolder, kindOfName } from '#renderer/client/fileDialog.ts'

test.each([
  ['tasks.CSV', 'data'],
  ['rows.jsonl', 'data'],
  ['table.parquet', 'data'],
  ['reward.ts', 'reward'],
  ['picture.png', 'unknown'],
  ['README', 'unknown'],
])('%s is %s', (name, kind) => {
  expect(kindOfName(name)).toBe(kind)
})

test('a folder is what its files make it', () => {
  expect(kindOfFolder(['config.json', 'model.safetensors'])).toBe('model')
  expect(kindOfFolder(['adapter_config.json', 'adapter_model.safetensors', 'config.json'])).toBe('adapter')
  expect(kindOfFolder(['notes.txt'])).toBe('unknown')
})
