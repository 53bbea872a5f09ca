/**
 * The check before a run, on configs as people have them: the bundled demos, README's, the examples, the guide's, every
 * algorithm's defaults. What a run can learn from, the check must not refuse. Each config is then started as it was
 * checked and followed through its first update.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { algorithms } from '#rl/algorithms/registry.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { f32ToWrite, openSafetensors, readTensor, writeSafetensors } from '#host/files/safetensors.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { endOfTextId } from '#host/models/smallTokenizers.ts'
import { readRunConfig, withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import { eachOf, isLong } from '../../sweeps.ts'
import { collect, createHostFixture, stepReached, type Config } from '../api/hostFixture.ts'

const root = path.join(resourcesDirectory, '..')
const inRoot = (name: string): string => path.join(root, name)
const fixture = createHostFixture()
const { client, directory } = fixture

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const demo = (name: string): Config => readRunConfig(inRoot(`resources/demo/${name}.json`), directory)

/** The JSON examples of a document that are whole configs. */
function configsIn(document: string): readonly Config[] {
  const text = readFileSync(inRoot(document), 'utf8')
  return [...text.matchAll(/```json\n(.*?)```/gs)].flatMap(([, block = '']) =>
    block.includes('"model"') && block.startsWith('{') ? [JSON.parse(block) as Config] : [],
  )
}

function fromReadme(): Config {
  const [config] = configsIn('README.md')
  if (config === undefined) throw new Error('Expected a run config in README.md.')
  return withAbsolutePaths(parseRunConfig(config), root, directory)
}

/** A config of the guide, whose model and CSV are a user's own; the bundled model stays. */
function fromGuide(config: Config): Config {
  writeFileSync(
    path.join(directory, 'sums.csv'),
    'question,answer\nWhat is 2 plus 3?,5\nWhat is 4 plus 4?,8\n',
  )
  const model = config['model'] === 'starter' ? starter : randomFolder
  return withAbsolutePaths(parseRunConfig({ ...config, model }), directory, directory)
}

/** Demonstrations and preferences have demos of their own; all others share one. */
function defaultsOf({ id, experience }: (typeof algorithms)[number]): Config {
  const base = demo(experience === 'rollout' ? 'run' : experience === 'demonstrations' ? id : 'dpo')
  const teacher = id === 'distillation' ? { reference: { ...base.reference, model: starter } } : {}
  return { ...base, ...teacher, algorithm: { id } }
}

const starter = path.join(resourcesDirectory, 'starter')
const [sinkFolder, randomFolder] = [path.join(directory, 'sink'), path.join(directory, 'random')]

/**
 * A random model whose first token holds nearly all attention, as the beginning of the text does in most trained ones: the
 * query's bias meets that token's key alone.
 */
async function writeSinkModel(folder: string): Promise<void> {
  const shape = modelShapes['tiny-qwen2']
  const { hiddenSize, headDim } = shape
  await writeRandomModel(folder, shape, 1, 'F32')
  const file = path.join(folder, 'model.safetensors')
  const slow = headDim / 2 - 1 // turned the least by the rotary embedding
  const unit = Math.sqrt(1 / hiddenSize)
  const tensors = [...openSafetensors(file).tensors].map(([name, location]) => {
    const data = readTensor(location)
    if (name.endsWith('embed_tokens.weight'))
      data.fill(2 * unit, endOfTextId * hiddenSize, (endOfTextId + 1) * hiddenSize)
    if (name.endsWith('q_proj.bias')) for (let i = slow; i < data.length; i += headDim) data[i] = 8
    if (name.endsWith('k_proj.weight'))
      for (let row = slow; row < data.length / hiddenSize; row += headDim)
        data.fill(unit, row * hiddenSize, (row + 1) * hiddenSize)
    return f32ToWrite({ name, shape: [...location.shape], data })
  })
  await writeSafetensors(file, tensors, { metadata: { format: 'pt' } })
}

beforeAll(async () => {
  await writeSinkModel(sinkFolder)
  await writeRandomModel(randomFolder, modelShapes['tiny-llama'], 1, 'F32')
})

/** A config of a folder, with the bundled model in the place of one that is downloaded. */
function withStarter(file: string): Config {
  const own = JSON.parse(readFileSync(inRoot(file), 'utf8')) as Config
  const copy = inRoot(path.join(path.dirname(file), 'door.json'))
  return withAbsolutePaths(parseRunConfig({ ...own, model: starter }), path.dirname(copy), directory)
}

/** By what they are called in the report; made when needed, as some need files of the fixture. */
const configs: Readonly<Record<string, () => Config>> = {
  'the demo in three stages': () => demo('chain'),
  'the run config of README': fromReadme,
  'the additions of the examples, with the starter model': () => withStarter('examples/additions/run.json'),
  ...Object.fromEntries(
    readdirSync(inRoot('docs/guide'))
      .flatMap((name) => configsIn(`docs/guide/${name}`).map((config) => [name, config] as const))
      .map(([name, config]) => [`the config of the guide, ${name}`, () => fromGuide(config)]),
  ),
  ...Object.fromEntries(
    algorithms.map((algorithm) => [`defaults of ${algorithm.id}`, () => defaultsOf(algorithm)]),
  ),
  'a workflow of the gallery': () => ({
    ...demo('run'),
    rollout: {
      ...demo('run').rollout,
      promptsPerStep: 4,
      workflow: { function: inRoot('resources/workflows/best-of-n.ts') },
    },
  }),
  'a base in 8 bits, on one thread': () => ({
    ...demo('run'),
    base: { precision: 'int8' },
    device: { threads: 1 },
  }),
  'a base in 4 bits, on two threads': () => ({
    ...demo('run'),
    base: { precision: 'int4' },
    device: { threads: 2 },
  }),
  'a model with an attention sink': () => ({
    ...demo('run'),
    model: sinkFolder,
    data: { ...demo('run').data, prompt: { template: '<|endoftext|>{prompt}' } },
  }),
}

/** What differs in how a run starts; the others are started in the long run of the tests. */
const started = ['stages', 'README', 'grpo', 'guide', 'ppo', 'dpo', 'workflow', '4 bits']

type Item = OutputOf<Api, 'runs.calibrate'>

async function check(config: Config): Promise<Extract<Item, { readonly result: unknown }>['result']> {
  const last = (await collect(client.stream('runs.calibrate', { config }))).at(-1)
  if (last === undefined || !('result' in last)) throw new Error('Expected a result at the end.')
  return last.result
}

/** In every run the demo's and README's, and one with a critic. */
const always = ['README', 'grpo', 'ppo']
const isAlways = ([name]: [string, unknown]) => always.some((part) => name.includes(part))

describe('the check passes, and the run starts from what was checked:', () => {
  eachOf(test, { rows: Object.entries(configs), isAlways }, '%s', async (name, make) => {
    const config = make()
    const verdict = await client.call('runs.check', { config })
    expect(verdict).not.toHaveProperty('problems')
    const { steps, seconds, samples, etaSeconds } = await check(config)
    expect(seconds.learning).toBeGreaterThan(0)
    expect(etaSeconds.expected).toBeGreaterThan(0)
    expect(samples.length).toBeGreaterThan(0)
    if (!isLong && !started.some((part) => name.includes(part))) return
    const { runId } = await client.call('runs.start', { config })
    await stepReached(client, runId, 1)
    const run = await client.call('runs.get', { runId })
    expect(run.steps).toBe(steps)
    await client.call('runs.stop', { runId })
    await fixture.reached(runId, 'interrupted', 'stopped', 'finished')
    await fixture.left()
    expect(fixture.faults).toEqual([])
  })
})
