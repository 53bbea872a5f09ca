import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parameterCount } from '#host/devices/deviceChoice.ts'
import { rememberThroughput } from '#host/devices/deviceRecords.ts'
import { readKnownModels } from '#host/hub/knownModels.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { generationWork, learningWork } from '#host/models/tokenWork.ts'
import { collect, createHostFixture } from '../api/hostFixture.ts'
import { startHub, type ListedEntry, type LoopbackHub } from './loopbackHub.ts'

const fixture = createHostFixture()
const { client, directory } = fixture
const source = path.join(directory, 'hub-model')
let hub: LoopbackHub

const entry = (id: string, downloads: number, more: object, tags: readonly string[] = []): ListedEntry => ({
  id,
  downloads,
  tags,
  ...more,
})
const files = (...names: string[]) => ({ siblings: names.map((rfilename) => ({ rfilename })) })
const folder = files('config.json', 'model.safetensors')

const others = [
  entry('org/tiny-moe', 900, { config: { model_type: 'mixtral' }, ...folder }),
  entry('org/tiny-awq', 800, {
    config: { model_type: 'llama', quantization_config: { quant_method: 'awq' } },
    ...folder,
  }),
  entry('org/tiny-pickle', 700, { config: { model_type: 'llama' }, ...files('pytorch_model.bin') }),
  entry('org/tiny-lora', 600, { config: {}, ...files('adapter_config.json', 'adapter_model.safetensors') }),
  entry('org/tiny-GGUF', 500, {
    gguf: { architecture: 'qwen3', total: 600_000_000 },
    cardData: { license: 'other', license_name: 'own-terms' },
    gated: 'auto',
    ...files('tiny-Q4_K_M.gguf'),
  }),
  entry('org/tiny-mamba-GGUF', 400, { gguf: { architecture: 'mamba', total: 1 }, ...files('a.gguf') }),
  entry('org/tiny-7b', 300, { config: { model_type: 'mistral' }, safetensors: { total: 7e9 }, ...folder }, [
    'mistral',
    'license:apache-2.0',
  ]),
  // Not as a hub answers: it is left out, or what is wrong with it is.
  entry('no id', 200, folder),
  entry('org/tiny-odd', 100, { config: 'llama', safetensors: 7, cardData: [], siblings: null }),
]

beforeAll(async () => {
  await writeRandomModel(source, modelShapes['tiny-llama'], 1, 'F32')
  writeFileSync(path.join(source, 'README.md'), '---\nlicense: mit\n---\n# Tiny\n')
  writeFileSync(path.join(source, 'LICENSE'), 'Permission is hereby granted.\n')
  hub = await startHub(source, undefined, others)
  await client.call('settings.set', { key: 'hub.endpoint', value: hub.endpoint })
})

afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

beforeEach(() => {
  hub.fault.asked.length = 0
})

const search = (words: string, more: object = {}) => client.call('hub.search', { words, ...more })

describe('search of a hub', () => {
  test('tells of each model whether it can be opened, in one request', async () => {
    const { models, hasMore } = await search('tiny')
    const verdicts = models.map(({ id, verdict }) => [
      id,
      'family' in verdict ? verdict.family : verdict.problem,
    ])
    expect(verdicts).toEqual([
      ['someone/tiny', 'llama'],
      ['org/tiny-moe', expect.stringContaining('“mixtral”')],
      ['org/tiny-awq', expect.stringContaining('quantised by “awq”')],
      ['org/tiny-pickle', expect.stringContaining('neither safetensors weights nor a GGUF file')],
      ['org/tiny-lora', expect.stringContaining('is an adapter')],
      ['org/tiny-GGUF', 'qwen3'],
      ['org/tiny-mamba-GGUF', expect.stringContaining('“mamba”')],
      ['org/tiny-7b', 'mistral'],
      ['org/tiny-odd', expect.stringContaining('neither safetensors')],
    ])
    expect(hasMore).toBe(false)
    expect(hub.fault.asked).toEqual(['GET /api/models'])
    expect(models.find(({ id }) => id === 'org/tiny-GGUF')).toEqual({
      id: 'org/tiny-GGUF',
      downloads: 500,
      isGated: true,
      license: 'own-terms',
      parameters: 600_000_000,
      forms: ['gguf'],
      verdict: { family: 'qwen3' },
    })
  })

  test('is narrowed by words, family, licence and size', async () => {
    const ids = async (words: string, more: object = {}) => {
      const { models } = await search(words, more)
      return models.map(({ id }) => id)
    }
    expect(await ids('tiny 7b')).toEqual(['org/tiny-7b'])
    expect(await ids('nothing of the kind')).toEqual([])
    expect(await ids('tiny', { family: 'mistral' })).toEqual(['org/tiny-7b'])
    expect(await ids('tiny', { license: 'mit' })).toEqual(['someone/tiny'])
    expect(await ids('tiny', { onlyUsable: true })).toEqual(['someone/tiny', 'org/tiny-GGUF', 'org/tiny-7b'])
    expect(await ids('tiny', { onlyUsable: true, maxParameters: 1e9 })).toEqual([
      'someone/tiny',
      'org/tiny-GGUF',
    ])
  })

  test('says that a hub is not there, or is none', async () => {
    const server = createServer((_request, response) => response.end('<html>'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address() as { port: number }
    const endpoint = `http://127.0.0.1:${address.port}`
    await client.call('settings.set', { key: 'hub.endpoint', value: endpoint })
    await expect(search('tiny')).rejects.toMatchObject({ code: 'api/disconnected' })
    await new Promise((resolve) => server.close(resolve))
    await expect(search('tiny')).rejects.toMatchObject({ message: 'The hub cannot be reached.' })
    await client.call('settings.set', { key: 'hub.endpoint', value: hub.endpoint })
  })
})

describe('a look at a model of a hub', () => {
  test('tells its licence, size and what it would need, without its weights', async () => {
    const found = await client.call('hub.look', { address: 'someone/tiny' })
    expect(found).toMatchObject({
      id: 'someone/tiny',
      file: null,
      page: `${hub.endpoint}/someone/tiny`,
      license: { name: 'mit', link: null, text: 'Permission is hereby granted.\n' },
      choices: [{ file: null }],
      verdict: { family: 'llama', contextLength: 512, fits: 'f32' },
    })
    expect(hub.fault.asked.some((line) => line.includes('.safetensors'))).toBe(false)
  })

  test('opens a GGUF file by its header, and says why one cannot be opened', async () => {
    const kept = readFileSync(path.join(source, 'config.json'))
    rmSync(path.join(source, 'config.json'))
    const fixtures = path.resolve('tests/fixtures/gguf')
    cpSync(path.join(fixtures, 'qwen3-rslora.gguf'), path.join(source, 'a.gguf'))
    writeFileSync(path.join(source, 'b.gguf'), 'GGUF and nothing else')
    try {
      const found = await client.call('hub.look', { address: 'someone/tiny' })
      expect(found.choices.map(({ file }) => file)).toEqual(['a.gguf', 'b.gguf'])
      expect(found).toMatchObject({ file: 'a.gguf', verdict: { family: 'qwen3', fits: 'f32' } })
      const broken = await client.call('hub.look', { address: 'someone/tiny', file: 'b.gguf' })
      expect(broken.verdict).toEqual({
        problem: expect.stringContaining('b.gguf of someone/tiny is not a valid GGUF file') as string,
      })
      await expect(
        client.call('hub.look', { address: 'someone/tiny', file: 'c.gguf' }),
      ).rejects.toMatchObject({
        code: 'usage/invalid',
        hint: 'It has a.gguf, b.gguf.',
      })
      const items = await collect(
        client.stream('models.fetch', { address: 'someone/tiny', file: 'a.gguf', license: 'mit' }),
      )
      const last = items.at(-1)
      if (last === undefined || !('result' in last)) throw new Error('Expected a result.')
      const imported = await collect(
        client.stream('models.import', { uploadId: last.result.uploadId, name: 'from-gguf' }),
      )
      expect(imported.at(-1)).toMatchObject({ result: { name: 'from-gguf', architecture: 'qwen3' } })
      expect(await client.call('models.info', { model: 'from-gguf' })).toMatchObject({
        hubId: 'someone/tiny',
        license: { name: 'mit', acceptedAt: expect.any(Number) as number },
      })
    } finally {
      for (const name of ['a.gguf', 'b.gguf']) rmSync(path.join(source, name))
      writeFileSync(path.join(source, 'config.json'), kept)
    }
  })
})

/** As their makers publish them. */
const publishedParameters: Readonly<Record<string, number>> = {
  'HuggingFaceTB/SmolLM2-135M-Instruct': 134_515_008,
  'HuggingFaceTB/SmolLM2-360M-Instruct': 361_821_120,
  'HuggingFaceTB/SmolLM2-1.7B-Instruct': 1_711_376_384,
  'HuggingFaceTB/SmolLM3-3B': 3_075_098_624,
  'Qwen/Qwen2.5-0.5B-Instruct': 494_032_768,
  'Qwen/Qwen2.5-1.5B-Instruct': 1_543_714_304,
  'Qwen/Qwen2.5-7B-Instruct': 7_615_616_512,
  'Qwen/Qwen2.5-Coder-0.5B-Instruct': 494_032_768,
  'Qwen/Qwen2.5-Math-1.5B-Instruct': 1_543_714_304,
  'Qwen/Qwen3-0.6B': 596_049_920,
  'Qwen/Qwen3-1.7B': 1_720_574_976,
  'Qwen/Qwen3-4B': 4_022_468_096,
  'Qwen/Qwen3-8B': 8_190_735_360,
  'meta-llama/Llama-3.2-1B-Instruct': 1_235_814_400,
  'meta-llama/Llama-3.2-3B-Instruct': 3_212_749_824,
  'google/gemma-3-270m-it': 268_098_176,
  'google/gemma-3-1b-it': 999_885_952,
  'google/gemma-2-2b-it': 2_614_341_888,
  'microsoft/Phi-3-mini-4k-instruct': 3_821_079_552,
  'allenai/OLMo-2-0425-1B-Instruct': 1_484_916_736,
  'ibm-granite/granite-3.3-2b-instruct': 2_533_539_840,
  'mistralai/Mistral-7B-Instruct-v0.3': 7_248_023_552,
  'TinyLlama/TinyLlama-1.1B-Chat-v1.0': 1_100_048_384,
  'openai-community/gpt2': 124_439_808,
}

describe('known models', () => {
  test('have the parameters that are published, and weights of about their size', () => {
    const models = readKnownModels()
    expect(Object.fromEntries(models.map(({ id, config }) => [id, parameterCount(config)]))).toEqual(
      publishedParameters,
    )
    for (const { id, config, sizeBytes } of models) {
      const bytes = sizeBytes / (parameterCount(config) * (id.endsWith('gpt2') ? 4 : 2))
      // A tied head may be stored all the same, and GPT-2's masks are.
      expect([id, bytes >= 1 && bytes < 1.3]).toEqual([id, true])
    }
  })

  test('are listed without asking anybody; speeds only once something was measured', async () => {
    const before = await client.call('hub.known')
    expect(before).toHaveLength(Object.keys(publishedParameters).length)
    expect(before.every(({ speed, localName }) => speed === null && localName === null)).toBe(true)
    expect(hub.fault.asked).toEqual([])
    const smol = before.find(({ id }) => id.endsWith('135M-Instruct'))
    expect(smol).toMatchObject({ family: 'llama', parameters: 134_515_008, contextLength: 8192, fits: 'f32' })
    expect(smol?.trainingBytes).toBe(5 * 134_515_008)

    const cache = path.join(fixture.host.dataDirectory, 'cache')
    const at = Date.UTC(2026, 0, 2)
    const rates = [{ precision: 'f32' as const, generating: 1e9, learning: 1e10 }]
    rememberThroughput({ kind: 'cpu', deviceId: 0 }, cache, { at, parameters: 25_000_000, rates })
    const after = await client.call('hub.known')
    const config = readKnownModels().find(({ id }) => id.endsWith('135M-Instruct'))!.config
    expect(after.find(({ id }) => id.endsWith('135M-Instruct'))?.speed).toEqual({
      generating: 1e9 / generationWork(config),
      learning: 1e10 / learningWork(config),
      device: 'cpu',
      measuredAt: at,
      parameters: 25_000_000,
    })
    // Every matrix but the embedding is gone through once; learning takes 4 to 6 operations for each of their elements.
    expect(generationWork(config) / 134_515_008).toBeCloseTo(1, 2)
    expect(learningWork(config) / generationWork(config)).toBeGreaterThan(4)
    expect(learningWork(config) / generationWork(config)).toBeLessThan(7)
  })

  test('that are on this machine are named', async () => {
    const own = path.join(fixture.host.dataDirectory, 'models', 'mine')
    mkdirSync(path.dirname(own), { recursive: true })
    cpSync(source, own, { recursive: true })
    writeFileSync(path.join(own, '.hub.json'), JSON.stringify({ id: 'Qwen/Qwen3-0.6B' }))
    const known = await client.call('hub.known')
    expect(known.find(({ localName }) => localName !== null)).toMatchObject({
      id: 'Qwen/Qwen3-0.6B',
      localName: 'mine',
    })
  })
})
