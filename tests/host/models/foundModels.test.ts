import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { foundModels } from '#host/models/foundModels.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { findModel, hubIdOf, importModel, listModels, summarizeModel } from '#host/models/modelLibrary.ts'
import { memoryFit } from '#host/devices/memoryFit.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'

const home = mkdtempSync(path.join(tmpdir(), 'turnwise-found-'))
const hub = path.join(home, '.cache', 'huggingface', 'hub')
const studio = path.join(home, '.lmstudio', 'models')
const ollama = path.join(home, '.ollama', 'models')
const model = path.join(home, 'tiny')

const write = (file: string, text: string) => {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** As huggingface_hub lays it out: links to blobs, by commit. */
function cache(repo: string, commit: string): string {
  const snapshot = path.join(hub, repo, 'snapshots', commit)
  mkdirSync(snapshot, { recursive: true })
  for (const name of readdirSync(model)) {
    const blob = path.join(hub, repo, 'blobs', `${commit}-${name}`)
    mkdirSync(path.dirname(blob), { recursive: true })
    cpSync(path.join(model, name), blob)
    symlinkSync(path.relative(snapshot, blob), path.join(snapshot, name))
  }
  return snapshot
}

const gguf = path.resolve('tests/fixtures/gguf/llama-grouped.gguf')
const digest = 'a'.repeat(64)
const manifest = (...layers: { mediaType: string; digest: string }[]) =>
  JSON.stringify({ schemaVersion: 2, layers })
const modelLayer = { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${digest}` }

beforeAll(async () => {
  await writeRandomModel(model, modelShapes['tiny-llama'], 1, 'F32')
})

afterAll(() => {
  rmSync(home, { recursive: true })
})

const found = (environment = {}) => foundModels(environment, home)

describe('a model that is no folder', () => {
  const errorOf = (name: string): unknown => {
    try {
      return findModel(name, path.join(home, 'data'))
    } catch (error) {
      return error
    }
  }

  test('and is called as on a hub is refused with the command that fetches it', () => {
    expect(errorOf('Qwen/Qwen3-0.6B')).toMatchObject({
      command: '`turnwise model import Qwen/Qwen3-0.6B` shows its licence and downloads it.',
    })
    expect(errorOf('nowhere')).toMatchObject({ command: '`turnwise model list` shows them.' })
  })

  test('but a folder of the home folder is found by its short path', () => {
    vi.stubEnv('HOME', home)
    vi.stubEnv('USERPROFILE', home)
    expect(errorOf('~/tiny')).toBe(model)
    vi.unstubAllEnvs()
  })
})

describe('models of other programs', () => {
  test('nothing there is nothing found', () => {
    expect(foundModels({}, path.join(home, 'nobody'))).toEqual([])
  })

  test('of the hub’s cache: the snapshot that main names, else the newest that is whole', () => {
    const main = cache('models--Some.Org--tiny--llama', 'c1')
    cache('models--Some.Org--tiny--llama', 'c2')
    write(path.join(hub, 'models--Some.Org--tiny--llama', 'refs', 'main'), 'c1\n')
    const older = cache('models--other--tiny', 'old')
    const newest = cache('models--other--tiny', 'new')
    utimesSync(older, 1, 1)
    const ownerless = cache('models--gpt2', 'c6')
    write(path.join(hub, 'models--words--only', 'snapshots', 'c3', 'tokenizer.json'), '{}')
    cache('datasets--some--rows', 'c4')
    expect(hubIdOf(ownerless)).toBe('gpt2')
    expect(found()).toEqual([
      { name: 'Some.Org/tiny--llama', directory: main, origin: 'huggingface' },
      { name: 'gpt2', directory: ownerless, origin: 'huggingface' },
      { name: 'other/tiny', directory: newest, origin: 'huggingface' },
    ])
    rmSync(path.join(hub, 'models--gpt2'), { recursive: true })
    const files = path.join(hub, 'models--some--GGUF', 'snapshots', 'c5')
    write(path.join(files, 'a.Q8_0.gguf'), '')
    expect(found().find(({ name }) => name === 'some/GGUF/a.Q8_0.gguf')?.directory).toBe(
      path.join(files, 'a.Q8_0.gguf'),
    )
    rmSync(path.join(hub, 'models--some--GGUF'), { recursive: true })
    expect(found({ HF_HOME: path.dirname(hub) })).toEqual(found())
    expect(found({ HF_HUB_CACHE: path.join(home, 'elsewhere') })).toEqual([])
    expect(found({ TURNWISE_FOUND_MODELS: '0' })).toEqual([])
    expect(hubIdOf(main)).toBe('Some.Org/tiny--llama')
    expect(hubIdOf(model)).toBe(null)
  })

  test('of LM Studio: one of each file, not the parts that see or continue others', () => {
    for (const name of ['a-Q8_0.gguf', 'mmproj-a.gguf', 'b-00001-of-00002.gguf', 'b-00002-of-00002.gguf'])
      write(path.join(studio, 'someone', 'a-GGUF', name), '')
    cpSync(model, path.join(home, 'moved', 'someone', 'tiny'), { recursive: true })
    const ofStudio = () => found().filter(({ origin }) => origin === 'lmstudio')
    expect(ofStudio().map(({ name }) => name)).toEqual([
      'someone/a-GGUF/a-Q8_0.gguf',
      'someone/a-GGUF/b-00001-of-00002.gguf',
    ])
    const settings = path.join(home, '.lmstudio', 'settings.json')
    write(settings, JSON.stringify({ downloadsFolder: path.join(home, 'moved') }))
    expect(ofStudio()).toHaveLength(3)
    expect(ofStudio()[0]).toMatchObject({
      name: 'someone/tiny',
      directory: path.join(home, 'moved', 'someone', 'tiny'),
    })
    write(settings, '{ damaged')
    expect(ofStudio()).toHaveLength(2)
    rmSync(path.join(home, 'moved'), { recursive: true })
  })

  test('of Ollama: one with an adapter is refused by name, and what of a Modelfile is not used is told', () => {
    const library = path.join(ollama, 'manifests', 'registry.ollama.ai', 'library')
    const blob = path.join(ollama, 'blobs', `sha256-${digest}`)
    mkdirSync(path.dirname(blob), { recursive: true })
    cpSync(gguf, blob)
    const layer = (kind: string) => ({ ...modelLayer, mediaType: `application/vnd.ollama.image.${kind}` })
    write(path.join(library, 'base', 'latest'), manifest(modelLayer, layer('system'), layer('template')))
    write(path.join(library, 'pirate', 'latest'), manifest(modelLayer, layer('adapter'), layer('system')))
    const ofOllama = found().filter(({ origin }) => origin === 'ollama')
    expect(ofOllama).toEqual([
      {
        name: 'base:latest',
        directory: blob,
        origin: 'ollama',
        notes: [expect.stringContaining('SYSTEM and TEMPLATE')],
      },
      {
        name: 'pirate:latest',
        directory: blob,
        origin: 'ollama',
        problem: expect.stringMatching(/has an adapter of its own .* its base is base:latest/) as string,
      },
    ])
    rmSync(ollama, { recursive: true })
  })

  test('of Ollama: by manifest, called as ollama list calls them', () => {
    const registry = path.join(ollama, 'manifests', 'registry.ollama.ai')
    const blob = path.join(ollama, 'blobs', `sha256-${digest}`)
    mkdirSync(path.dirname(blob), { recursive: true })
    cpSync(gguf, blob)
    write(path.join(registry, 'library', 'tiny', '1b'), manifest(modelLayer))
    write(path.join(registry, 'me', 'mine', 'latest'), manifest(modelLayer))
    write(path.join(ollama, 'manifests', 'hf.co', 'me', 'mine', 'latest'), manifest(modelLayer))
    write(
      path.join(registry, 'library', 'gone', 'latest'),
      manifest({ ...modelLayer, digest: `sha256:${'b'.repeat(64)}` }),
    )
    write(
      path.join(registry, 'library', 'outside', 'latest'),
      manifest({ ...modelLayer, digest: 'sha256:../../secret' }),
    )
    write(path.join(registry, 'library', 'odd', 'latest'), '[]')
    const ofOllama = found().filter(({ origin }) => origin === 'ollama')
    expect(ofOllama.map(({ name }) => name)).toEqual(['hf.co/me/mine:latest', 'tiny:1b', 'me/mine:latest'])
    expect(new Set(ofOllama.map(({ directory }) => directory))).toEqual(new Set([blob]))
  })

  test('are listed after ours, found by name, and copied only when asked', async () => {
    const before = { ...process.env }
    Object.assign(process.env, { TURNWISE_FOUND_MODELS: '1', HF_HUB_CACHE: hub, OLLAMA_MODELS: ollama })
    try {
      const dataDirectory = path.join(home, 'data')
      const listed = listModels(dataDirectory)
      expect(listed.slice(0, 3).map(({ name, origin }) => [name, origin])).toEqual([
        ['starter', null],
        ['Some.Org/tiny--llama', 'huggingface'],
        ['other/tiny', 'huggingface'],
      ])
      expect(listed[1]).toMatchObject({ architecture: 'llama', fits: 'f32' })
      expect(listed.find(({ name }) => name === 'tiny:1b')).toMatchObject({
        architecture: 'llama',
        origin: 'ollama',
      })
      await importModel(findModel('tiny:1b', dataDirectory), 'from-ollama', dataDirectory)
      expect(openModelFolder(findModel('from-ollama', dataDirectory)).config.architecture).toBe('llama')
      rmSync(dataDirectory, { recursive: true })
      const directory = findModel('Some.Org/tiny--llama', dataDirectory)
      expect(openModelFolder(directory).weightFiles).toHaveLength(1)
      expect(existsSync(dataDirectory)).toBe(false)
      await importModel(directory, 'copied', dataDirectory)
      expect(listModels(dataDirectory).map(({ name }) => name)).toContain('copied')
    } finally {
      for (const name of ['TURNWISE_FOUND_MODELS', 'HF_HUB_CACHE', 'OLLAMA_MODELS'])
        if (before[name] === undefined) Reflect.deleteProperty(process.env, name)
        else process.env[name] = before[name]
    }
  })
})

test('weights fit in the most exact form that leaves memory for the rest', () => {
  const { config } = openModelFolder(model)
  const { parameters } = summarizeModel('tiny', openModelFolder(model))
  const fitsIn = (bytes: number) => memoryFit(config, parameters, bytes).fits
  expect(fitsIn(1.25 * 4 * parameters)).toBe('f32')
  expect(fitsIn(1.25 * 4 * parameters - 1)).toBe('int8')
  expect(fitsIn(0)).toBe(null)
})
