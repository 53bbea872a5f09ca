/** GGUF files in the library, and what was trained on them exported. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { findModel, importModel, listModels } from '#host/models/modelLibrary.ts'
import { createFixture, failures, reference } from '../export/exportFixture.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const fixtures = path.resolve(import.meta.dirname, '../../fixtures/gguf')
const folder = temporaryFolder()

test('a file is imported as it is, listed and found', async () => {
  const data = path.join(folder, 'data')
  const file = path.join(fixtures, 'qwen3-rslora.gguf')
  const { name, architecture } = await importModel(file, 'mine', data)
  expect([name, architecture]).toEqual(['mine', 'qwen3'])
  const place = findModel('mine', data)
  expect(readdirSync(place)).toEqual(['qwen3-rslora.gguf'])
  expect(readFileSync(path.join(place, 'qwen3-rslora.gguf'))).toEqual(readFileSync(file))
  expect(listModels(data).map((model) => model.name)).toContain('mine')
  expect(openModelFolder(place).config).toEqual(openModelFolder(file).config)
})

async function fixtureOn(name: string, own: string) {
  const place = path.join(folder, own)
  mkdirSync(place)
  const model = openModelFolder(path.join(fixtures, `${name}.gguf`))
  const directory = path.join(reference, name, 'adapter')
  return createFixture(place, model, adapterForModel(readAdapter(directory), model.config, directory))
}

test.each(['merged', 'onnx', 'peft', 'gguf'] as const)('an adapter of it is exported: %s', async (format) => {
  for (const name of ['llama-grouped', 'qwen3-rslora']) {
    const fixture = await fixtureOn(name, `${name}-${format}`)
    const report = await fixture.export({ format })
    expect(failures(report)).toEqual([])
    if (format !== 'merged') continue
    const { config } = openModelFolder(report.directory)
    expect({ ...config, eosIds: [] }).toEqual({ ...fixture.model.config, eosIds: [] })
  }
})

test('a merged GPT-2 is refused', async () => {
  const fixture = await fixtureOn('gpt2', 'gpt2')
  await expect(fixture.export({ format: 'merged' })).rejects.toThrow('GGUF file of gpt2')
})
