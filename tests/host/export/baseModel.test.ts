/**
 * What an exported adapter says of its base. The README's code runs as it is written in peft, where Python has it:
 * TURNWISE_PYTHON, or python3.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { importModel, hubIdOf } from '#host/models/modelLibrary.ts'
import { readAdapter } from '#host/adapters/peft.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { randomAdapter } from '../../engine/runtime/tinyModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { createFixture, fixtureLora, referenceFixture } from './exportFixture.ts'
import { hasPeft, python } from './python.ts'

/** An adapter that knows no base, as fresh ones of runs on a model from a folder. */
async function trainedOn(model: string, folder: string) {
  const opened = openModelFolder(model)
  const tensors = randomAdapter(opened.config, fixtureLora)
  return createFixture(folder, opened, { config: fixtureLora, baseModel: null, tensors })
}

const readme = (directory: string): string => readFileSync(path.join(directory, 'README.md'), 'utf8')
const codeOf = (text: string): string => /```python\n([\s\S]*?)```/.exec(text)?.[1] ?? ''
const baseNamed = (directory: string): unknown =>
  (JSON.parse(readFileSync(path.join(directory, 'adapter_config.json'), 'utf8')) as Record<string, unknown>)[
    'base_model_name_or_path'
  ]

test('an adapter of a model without a hub id is opened in two steps; an id given at import is told', async () => {
  const folder = temporaryFolder()
  const [source, data] = [path.join(folder, 'source'), path.join(folder, 'data')]
  await writeRandomModel(source, modelShapes['tiny-llama'], 11, 'F32')

  const plain = await importModel(source, 'plain', data)
  const { directory: unknown } = await (
    await trainedOn(plain.directory, path.join(folder, 'a'))
  ).export({ format: 'peft' })
  expect(baseNamed(unknown)).toBeNull()
  expect(codeOf(readme(unknown))).toContain('PeftModel.from_pretrained(base, "path/of/this/folder")')
  expect(readme(unknown)).not.toContain('AutoPeftModel')
  expect(readme(unknown)).not.toContain('base_model:')

  const named = await importModel(source, 'named', data, 'someone/tiny-llama')
  expect(hubIdOf(named.directory)).toBe('someone/tiny-llama')
  const { directory: told } = await (
    await trainedOn(named.directory, path.join(folder, 'b'))
  ).export({ format: 'peft' })
  expect(baseNamed(told)).toBe('someone/tiny-llama')
  expect(readAdapter(told).baseModel).toBe('someone/tiny-llama')
  expect(codeOf(readme(told))).toContain('AutoPeftModelForCausalLM')
  expect(readme(told)).toContain('base_model: someone/tiny-llama')

  // A copy of the folder takes the id along.
  const again = await importModel(named.directory, 'again', data)
  expect(hubIdOf(again.directory)).toBe('someone/tiny-llama')
})

test('what cannot be a hub id is refused, and nothing is copied; a damaged note counts as none', async () => {
  const folder = temporaryFolder()
  const source = path.join(folder, 'source')
  await writeRandomModel(source, modelShapes['tiny-llama'], 11, 'F32')
  for (const id of ['', 'a/b/c', '../x', 'https://huggingface.co/a/b', `a/${'b'.repeat(300)}`])
    await expect(importModel(source, 'mine', folder, id), id).rejects.toThrow('id on a hub')
  expect(() => openModelFolder(path.join(folder, 'models', 'mine'))).toThrow()
  writeFileSync(path.join(source, '.hub.json'), '{"id": "../../x"}')
  expect(hubIdOf(source)).toBeNull()
  writeFileSync(path.join(source, '.hub.json'), 'no JSON')
  expect(hubIdOf(source)).toBeNull()
})

test.skipIf(!hasPeft())(
  'the code of the README runs as it is written (skipped without Python with peft)',
  async () => {
    const folder = temporaryFolder()
    const reference = await referenceFixture(path.join(folder, 'from'), 'gpt2')
    const { config, tensors } = reference.adapter
    const fixture = await createFixture(folder, reference.model, { config, baseModel: null, tensors })
    const { directory } = await fixture.export({ format: 'peft' })
    const code = codeOf(readme(directory))
      .replace('path/of/the/base/model', fixture.model.directory)
      .replace('path/of/this/folder', directory)
    const said = execFileSync(python, ['-c', `${code}\nprint(sorted(model.peft_config))`], {
      env: { ...process.env, HF_HUB_OFFLINE: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    }).toString()
    expect(said).toContain("['default']")
  },
)

test('a link that leads out of the model folder is not exported', async () => {
  const folder = temporaryFolder()
  const [model, secret] = [path.join(folder, 'model'), path.join(folder, 'id_rsa')]
  await writeRandomModel(model, modelShapes['tiny-llama'], 11, 'F32')
  writeFileSync(secret, 'PRIVATE KEY')
  for (const [name, format] of [
    ['NOTICE', 'merged'],
    ['chat_template.jinja', 'gguf'],
    ['README.md', 'peft'],
  ] as const) {
    symlinkSync(secret, path.join(model, name))
    const trained = await trainedOn(model, path.join(folder, name))
    await expect(trained.export({ format })).rejects.toThrow(`${name} is a link that leads out`)
    rmSync(path.join(model, name))
  }
})
