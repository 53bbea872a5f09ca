/** Settings that are hardly meant are named on the command line in the words of the window. */
import { mkdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { problemSentence, type Problem } from '#shared/errors.ts'
import { createHost } from '#host/createHost.ts'
import { readRunConfig } from '#host/runs/runConfigFile.ts'
import { checkRunConfig } from '#host/runs/runVerdict.ts'
import { answer, createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()
const settings = {
  model: 'model',
  data: { train: 'rows.csv' },
  rewards: [{ function: 'length-penalty', weight: 5000 }],
  adapter: { rank: 2 },
  rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 100, temperature: 3 },
  optimization: { learningRate: 0.02 },
  contextLength: 128,
  steps: 1,
}

beforeAll(async () => {
  await answer('model', 'random', '--shape', 'tiny-llama', '--out', place.path('model'))
  place.write('rows.csv', `prompt,answer\n1+1=,2\n${'2+2 '.repeat(40)}=,4\n`)
  place.write('run.json', settings)
})

afterAll(() => place[Symbol.dispose]())

/** What the window shows beside the settings. */
async function shownOf(file: string): Promise<readonly string[]> {
  await using host = createHost({ dataDirectory: place.folder, servesQueue: false })
  const config = readRunConfig(file, place.folder)
  return (await checkRunConfig(config, place.folder, host.askText)).warnings.map(problemSentence)
}

const told = (stderr: string): string[] =>
  stderr.split('\n').flatMap((line) => /^Warning: (.*)$/.exec(line)?.[1] ?? [])

test('train warns of what New run warns of', async () => {
  const shown = await shownOf(place.path('run.json'))
  const places = [
    'rewards[0].weight',
    'rollout.temperature',
    'rollout.maxNewTokens',
    'optimization.learningRate',
  ]
  for (const start of places)
    expect(shown.filter((sentence) => sentence.startsWith(`${start}: `))).toHaveLength(1)
  const { stderr } = await place.run('train', place.path('run.json'))
  expect(told(stderr)).toEqual(expect.arrayContaining([...shown]))
})

test('rows that make no prompt are refused before a run is made, in both', async () => {
  const file = place.write('nameless.json', {
    ...settings,
    data: { train: 'rows.csv', prompt: { column: 'q' } },
  })
  const words = 'Row 1 of the data cannot be turned into a prompt: it has no column “q”'
  await expect(shownOf(file)).rejects.toThrow(words)
  const { status, stderr } = await answer('train', file, '--data-dir', place.folder)
  expect(status).toBe(1)
  expect(stderr).toContain(words)
})

test.each(['bf16', 'tf32'])('auto that finds no device for %s says so, and what to do', async (precision) => {
  const file = place.write('short.json', { ...settings, base: { precision } })
  const words = `${precision}, which needs CUDA; \`device.kind\` is auto, which takes the CPU here: let such a device pass`
  await expect(shownOf(file)).rejects.toThrow(words)
  const { status, stderr } = await answer('train', file, '--check', '--data-dir', place.folder)
  expect(status).not.toBe(0)
  expect(stderr).toContain(words)
})

test('a teacher that reads less than the model limits prompt and completion, and is named', async () => {
  await answer('model', 'random', '--shape', 'tiny-llama', '--out', place.path('short'))
  const config = JSON.parse(readFileSync(place.path('short/config.json'), 'utf8')) as object
  place.write('short/config.json', { ...config, max_position_embeddings: 64 })
  const distilling = {
    ...settings,
    rewards: [],
    algorithm: { id: 'distillation' },
    reference: { model: 'short' },
  }
  const fits = { ...distilling, rollout: { promptsPerStep: 1, maxNewTokens: 56 } }
  const [long, tight] = [place.write('long.json', distilling), place.write('tight.json', fits)]
  const words =
    '100, but the teacher short reads 64 tokens including the prompt: at most 63 can be generated.'
  await expect(shownOf(long)).rejects.toThrow(words)
  const { status, stderr } = await answer('train', long, '--check', '--data-dir', place.folder)
  expect(status).not.toBe(0)
  expect(stderr).toContain(words)
  expect(await shownOf(tight)).toContainEqual(
    expect.stringContaining(
      'exceed the teacher short’s context of 64 tokens, so that such rows are left out',
    ),
  )
})

test('a teacher that cannot be opened is called that, beside its setting, with what to do', async () => {
  const shown = (name: string) => shownOf(place.path(name))
  const teachers = {
    'none-such': 'There is no model “none-such”. Give the path of a model folder or GGUF file',
    'owner/none-such': 'There is no model “owner/none-such”. No folder has this name; on a hub a model may.',
    'rows.csv':
      'rows.csv is a file; a model is a folder with config.json and weights, or a GGUF file. Name a model with the same vocabulary',
    bare: 'bare has no config.json, so it is not a model folder. Name a model with the same vocabulary',
    tuned:
      'tuned has no config.json, so it is not a model folder. It is an adapter: name the folder of a model that it is merged into.',
  }
  for (const name of ['bare', 'tuned']) mkdirSync(place.path(name))
  place.write('tuned/adapter_config.json', {})
  for (const [model, words] of Object.entries(teachers)) {
    const given = { ...settings, rewards: [], algorithm: { id: 'distillation' }, reference: { model } }
    place.write('taught.json', given)
    await expect(shown('taught.json')).rejects.toMatchObject({
      code: 'config/invalid',
      problems: [{ path: 'reference.model', code: 'unusable', stage: null }],
      message: expect.stringMatching(/reference\.model: the teacher cannot be opened: /) as string,
    })
    await expect(shown('taught.json')).rejects.toThrow(words)
    const stages = [{ algorithm: { id: 'sft' } }, { algorithm: { id: 'distillation' }, reference: { model } }]
    place.write('staged.json', { ...settings, rewards: [], stages })
    await expect(shown('staged.json')).rejects.toMatchObject({
      problems: [{ path: 'reference.model', stage: 1 }],
    })
  }
})

test('config import warns of settings that were absurd over there too, and of those that do not fit', async () => {
  const file = place.write('trl.yaml', 'learning_rate: 0.5\nnum_generations: 1\ntemperature: 7.0\n')
  const { stdout, stderr } = await answer('config', 'import', file, '--from', 'trl', '--json')
  const [{ warnings } = { warnings: [] }] = linesOf(stdout) as { warnings: Problem[] }[]
  expect(warnings.map((warning) => warning.path)).toEqual([
    'rollout.groupSize',
    'optimization.learningRate',
    'rollout.temperature',
  ])
  expect(stderr).toBe('')
  expect(told((await answer('config', 'import', file, '--from', 'trl')).stderr)).toEqual(
    warnings.map(problemSentence),
  )
})

test('config import says first what a file was taken for, and takes a choice where it asks', async () => {
  const file = place.write('open.yaml', 'learning_rate: 1.0e-5\nnum_train_epochs: 1\n')
  expect((await answer('config', 'import', file)).stderr).toContain('--algorithm')
  const { stderr } = await answer('config', 'import', file, '--algorithm', 'sft')
  expect(stderr.split('\n')[0]).toBe('Read as TRL’s SFT settings: SFT was chosen.')
})
