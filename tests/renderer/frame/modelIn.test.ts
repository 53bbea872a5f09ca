import { expect, test } from 'vitest'
import { modelIn, refusal } from '#renderer/frame/FileDialogs.tsx'

test('a folder is known by its files', () => {
  expect(modelIn(['config.json', 'model.safetensors', 'tokenizer.json'])).toBe('Model')
  expect(modelIn(['config.json', 'model-00001-of-00002.safetensors'])).toBe('Model')
  expect(modelIn(['adapter_config.json', 'adapter_model.safetensors'])).toBe('Adapter')
  expect(modelIn(['config.json', 'pytorch_model.bin'])).toBeNull()
  expect(modelIn(['README.md', 'SmolLM2.gguf'])).toBe('Model')
  expect(modelIn(['Q4_0.gguf', 'Q8_0.gguf'])).toBeNull()
  expect(modelIn([])).toBeNull()
})

test('a typed file that is no data says what it is, and only where data is asked for', () => {
  const data = { filters: [{ name: 'Data', extensions: ['csv', 'jsonl'] }] }
  expect(refusal('/home/me/book.xlsx', data)).toMatchObject({
    message: '/home/me/book.xlsx is a spreadsheet.',
    hint: expect.stringContaining('CSV') as string,
  })
  expect(refusal('/home/me/nowhere', data)).toBeNull()
  expect(refusal('/home/me/book.xlsx', {})).toBeNull()
})
