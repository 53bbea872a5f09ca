import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { exactResume, stateToRestore } from '#host/runs/checkpointRestore.ts'
import { isCheckpoint } from '#host/workFolder/checkpointState.ts'
import {
  checkpointProblem,
  listCheckpoints,
  loadCheckpoint,
  saveCheckpoint,
  surveyCheckpoints,
  type Checkpoint,
} from '#host/models/checkpoints.ts'
import { exportPeft } from '#host/models/exportAdapter.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { readAdapter } from '#host/adapters/peft.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { fallBackSentence, resolveCheckpoint, resolveResume } from '#host/runs/runTarget.ts'
import { exampleCheckpoint } from './exampleCheckpoint.ts'

let data: string
let run: RunFolder

beforeEach(() => {
  data = mkdtempSync(path.join(tmpdir(), 'turnwise-'))
  run = createRunFolder(data, {})
})

afterEach(() => {
  rmSync(data, { recursive: true })
})

const save = (checkpoint: Checkpoint) => saveCheckpoint(run.directory, checkpoint)
const filesOf = (directory: string) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'README.md')
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()

const adapterFiles = (role: string) => [`${role}/adapter_config.json`, `${role}/adapter_model.safetensors`]
const critic = {
  adapter: exampleCheckpoint(77).actor,
  valueHead: { weight: Float32Array.of(1, -2, 3), bias: 0.25 },
}

describe('checkpoints', () => {
  test('one whose folder is removed while it is written says so', async () => {
    const checkpoints = path.join(run.directory, 'checkpoints')
    const { optimizer, ...rest } = exampleCheckpoint(3)
    const removing = Object.defineProperty({ ...optimizer! }, 'buffers', {
      get() {
        rmSync(checkpoints, { recursive: true })
        return optimizer!.buffers
      },
    })
    await expect(save({ ...rest, optimizer: removing })).rejects.toThrow(
      'no longer exists: it was removed or moved during training.',
    )
  })

  test('one whose files to copy are missing does not say that the run was removed', async () => {
    const engine = path.join(run.directory, 'nowhere')
    await expect(save({ ...exampleCheckpoint(3), engine })).rejects.toThrow('nowhere could not be read')
  })

  test('come back as they were saved', async () => {
    const saved = exampleCheckpoint(4, { reward: 0.25, metrics: { reward: 0.5 } })
    const { directory } = await save(saved)
    expect(loadCheckpoint(directory)).toEqual(saved)
    expect(checkpointProblem(directory)).toBeNull()
  })

  test('hold a PEFT adapter per role, and the value head beside the critic', async () => {
    const saved = { ...exampleCheckpoint(1), critic }
    const { directory } = await save(saved)
    expect(filesOf(directory)).toEqual(
      [
        ...['actor', 'critic', 'reference'].flatMap(adapterFiles),
        'critic/value_head.safetensors',
        'optimizer.safetensors',
        'state.json',
      ].sort(),
    )
    expect(readAdapter(path.join(directory, 'reference')).tensors).toEqual(saved.reference)
    expect(loadCheckpoint(directory)).toEqual(saved)
  })

  test('stand for their actor where an adapter is asked for', async () => {
    const saved = exampleCheckpoint(1)
    const { directory } = await save(saved)
    expect(readAdapter(directory).tensors).toEqual(saved.actor)
  })

  test.each(['actor', 'moments'])('a number that is not finite is never written: %s', async (part) => {
    await save(exampleCheckpoint(1))
    const broken = exampleCheckpoint(2)
    const data = part === 'actor' ? broken.actor[1]!.data : broken.optimizer!.buffers['firstMoments']!
    data.fill(NaN, 3, 4)
    await expect(save(broken)).rejects.toMatchObject({ code: 'run/diverged' })
    expect(listCheckpoints(run.directory).map(({ step }) => step)).toEqual([1])
  })

  test('one of the same step is replaced', async () => {
    await save(exampleCheckpoint(1, { reward: 0.1 }))
    await save(exampleCheckpoint(1, { reward: 0.9 }))
    expect(listCheckpoints(run.directory).map(({ reward }) => reward)).toEqual([0.9])
  })

  test('say in a list what they measured and how large they are', async () => {
    const entry = await save(exampleCheckpoint(2, { reward: 0.5, metrics: { kl: 0.125, entropy: NaN } }))
    const files = readdirSync(entry.directory, { recursive: true, withFileTypes: true })
    const bytes = files
      .filter((file) => file.isFile())
      .map((file) => readFileSync(path.join(file.parentPath, file.name)).length)
    expect(listCheckpoints(run.directory)).toEqual([entry])
    expect(entry).toMatchObject({
      metrics: { eval_reward: 0.5, kl: 0.125 },
      sizeBytes: bytes.reduce((a, b) => a + b),
    })
    expect(Object.keys(entry.metrics)).not.toContain('entropy')
  })
})

describe('what is saved', () => {
  test.each([
    { lora: true, optimizer: true },
    { lora: true, optimizer: false },
    { lora: false, optimizer: true },
    { lora: false, optimizer: false },
  ])('adapters alone $lora, optimizer $optimizer', async ({ lora, optimizer }) => {
    const model = path.join(data, 'model')
    await writeRandomModel(model, modelShapes['tiny-llama'], 1, 'F32')
    const whole = exampleCheckpoint(3)
    const saved = {
      ...whole,
      optimizer: optimizer ? whole.optimizer : null,
      model: lora ? null : model,
    }
    const { directory } = await save(saved)
    const copy = path.join(directory, 'model')
    expect(loadCheckpoint(directory)).toEqual({ ...saved, model: lora ? null : copy })
    expect(existsSync(copy)).toBe(!lora)
    expect(existsSync(path.join(directory, 'optimizer.safetensors'))).toBe(optimizer)
    if (lora) return
    const { config } = openModelFolder(model)
    rmSync(model, { recursive: true })
    expect(openModelFolder(copy).config).toEqual(config)
    rmSync(path.join(copy, 'model.safetensors'))
    expect(() => loadCheckpoint(directory)).toThrow('model/model.safetensors is missing')
  })
})

describe('what a run takes over', () => {
  const saved = exampleCheckpoint(5)
  const { actor, reference, optimizer } = saved

  test('everything when it goes on', () => {
    const restored = stateToRestore({ ...saved, critic }, exactResume)
    expect(restored).toEqual({ actor, reference, critic, optimizer, warnings: [] })
  })

  test('an optimizer that was not kept begins anew, in words', () => {
    const restored = stateToRestore({ ...saved, optimizer: null }, exactResume)
    expect(restored.optimizer).toBeNull()
    expect(restored.warnings).toEqual([
      expect.stringContaining('The checkpoint of step 5 was saved without the optimizer'),
    ])
  })

  test('not the optimizer when it is not wanted', () => {
    const restored = stateToRestore(saved, { ...exactResume, loadOptimizer: false })
    expect([restored.optimizer, restored.warnings]).toEqual([null, []])
  })

  test.each([
    { overwrite: false, kept: true, from: 'disk' },
    { overwrite: true, kept: true, from: 'actor' },
    { overwrite: false, kept: false, from: 'its own' },
    { overwrite: true, kept: false, from: 'actor' },
  ])('the reference: overwritten $overwrite, kept $kept → $from', ({ overwrite, kept, from }) => {
    const checkpoint = { ...saved, reference: kept ? reference : null }
    const restored = stateToRestore(checkpoint, { ...exactResume, overwriteReference: overwrite })
    expect(restored.reference).toBe({ disk: reference, actor, 'its own': null }[from])
  })

  test.each([
    { overwrite: false, kept: true, expected: critic },
    { overwrite: true, kept: true, expected: critic },
    { overwrite: false, kept: false, expected: null },
    { overwrite: true, kept: false, expected: { adapter: actor, valueHead: null } },
  ])('the critic: overwritten $overwrite, kept $kept', ({ overwrite, kept, expected }) => {
    const checkpoint = { ...saved, critic: kept ? critic : null }
    const restored = stateToRestore(checkpoint, { ...exactResume, overwriteCritic: overwrite })
    expect(restored.critic).toEqual(expected)
  })
})

/** One place of each kind of content, as [file, byte]. */
const places: readonly (readonly [name: string, file: string, byte: (length: number) => number])[] = [
  ['length of a header', 'actor/adapter_model.safetensors', () => 0],
  ['header', 'actor/adapter_model.safetensors', () => 40],
  ['tensor', 'actor/adapter_model.safetensors', (length) => length - 3],
  ['tensor of the reference', 'reference/adapter_model.safetensors', (length) => length - 1],
  ['adapter config', 'actor/adapter_config.json', (length) => length >> 1],
  ['description', 'actor/README.md', () => 0],
  ['header of the optimizer', 'optimizer.safetensors', () => 12],
  ['moment', 'optimizer.safetensors', (length) => length - 2],
  ['value head', 'critic/value_head.safetensors', (length) => length - 1],
]

function flip(file: string, at: number): void {
  const bytes = readFileSync(file)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(file, bytes)
}

describe('damage', () => {
  test.each(places)(
    'one flipped bit (%s) is noticed, and the checkpoint before is used',
    async (_, name, at) => {
      await save(exampleCheckpoint(1))
      const { directory } = await save({ ...exampleCheckpoint(2), critic })
      const file = path.join(directory, name)
      flip(file, at(readFileSync(file).length))
      expect(() => loadCheckpoint(directory)).toThrow(`${name} has changed since it was written`)
      const target = resolveResume(data, run.id)
      expect(target.checkpoint?.step).toBe(1)
      expect(fallBackSentence(target)).toMatch(
        /^The checkpoint of step 2 cannot be used, so the run resumes from step 1, the last complete one\. .*step-000002 is not a complete checkpoint/,
      )
      const chosen = resolveCheckpoint(data, run.id, 'last')
      expect(chosen.directory).toMatch(/step-000001$/)
      expect(chosen.fallBack).toContain('so this is step 1, the last complete one')
    },
  )

  test('one flipped bit anywhere in state.json is noticed', async () => {
    await save(exampleCheckpoint(1))
    const { directory } = await save(exampleCheckpoint(2, { reward: 0.5 }))
    const file = path.join(directory, 'state.json')
    const bytes = readFileSync(file)
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (bytes[at] ?? 0) ^ 1
      writeFileSync(file, changed)
      expect(checkpointProblem(directory), `byte ${at}`).not.toBeNull()
    }
    writeFileSync(file, bytes)
    expect(checkpointProblem(directory)).toBeNull()
    flip(file, bytes.indexOf('"tokens": 2') + '"tokens": '.length)
    expect(() => loadCheckpoint(directory)).toThrow('state.json has changed since it was written')
    expect(surveyCheckpoints(run.directory)).toMatchObject({ entries: [{ step: 1 }], damaged: [{ step: 2 }] })
    expect(resolveResume(data, run.id).checkpoint?.step).toBe(1)
  })

  test.each(['actor/adapter_model.safetensors', 'reference/adapter_config.json', 'optimizer.safetensors'])(
    'a deleted %s is named, and the checkpoint before is used',
    async (name) => {
      await save(exampleCheckpoint(1))
      const { directory } = await save(exampleCheckpoint(2))
      rmSync(path.join(directory, name))
      expect(() => loadCheckpoint(directory)).toThrow(`${name} is missing`)
      expect(resolveResume(data, run.id).checkpoint?.step).toBe(1)
    },
  )

  test('a deleted state.json is named, and the checkpoint before is used', async () => {
    await save(exampleCheckpoint(1))
    const { directory } = await save(exampleCheckpoint(2))
    rmSync(path.join(directory, 'state.json'))
    expect(isCheckpoint(directory)).toBe(false)
    expect(() => loadCheckpoint(directory)).toThrow('it has no state.json')
    expect(fallBackSentence(resolveResume(data, run.id))).toContain('it has no state.json')
  })

  test('when none is whole the run does not silently begin again', async () => {
    for (const step of [1, 2]) {
      const { directory } = await save(exampleCheckpoint(step))
      rmSync(path.join(directory, 'optimizer.safetensors'))
    }
    expect(() => resolveResume(data, run.id)).toThrow(/none of its 2 checkpoints can be used.*optimizer/)
    expect(() => resolveCheckpoint(data, run.id, 'last')).toThrow('has no complete checkpoint')
  })

  test('files that came into the folder later are not loaded', async () => {
    const saved = { ...exampleCheckpoint(1), reference: null }
    const { directory } = await save(saved)
    const other = await save(exampleCheckpoint(2))
    renameSync(path.join(other.directory, 'reference'), path.join(directory, 'reference'))
    expect(loadCheckpoint(directory)).toEqual(saved)
  })

  test('a folder under the name of another step is not that step', async () => {
    const { directory } = await save(exampleCheckpoint(1))
    renameSync(directory, directory.replace(/1$/, '9'))
    expect(surveyCheckpoints(run.directory)).toMatchObject({
      entries: [],
      damaged: [{ step: 9, problem: expect.stringContaining('it belongs to step 1') as string }],
    })
  })

  test.each([
    [1, 'was written by an earlier version of Turnwise'],
    [4, 'was written by a newer version of Turnwise'],
  ])('another form of checkpoints (%d) is told as that', async (format, words) => {
    const { directory } = await save(exampleCheckpoint(1))
    const file = path.join(directory, 'state.json')
    writeFileSync(file, readFileSync(file, 'utf8').replace('"format": 3', `"format": ${format}`))
    expect(() => loadCheckpoint(directory)).toThrow(words)
    expect(() => resolveResume(data, run.id)).toThrow(words)
  })
})

describe('what a person may name', () => {
  test('a run without checkpoints begins again', () => {
    expect(resolveResume(data, run.id)).toEqual({ run, checkpoint: null, passedOver: [] })
    expect(() => resolveCheckpoint(data, run.id, 'last')).toThrow('has no checkpoint')
  })

  test('a checkpoint by its folder', async () => {
    const first = await save(exampleCheckpoint(1, { reward: 0.5 }))
    await save(exampleCheckpoint(2))
    expect(resolveResume(data, first.directory)).toEqual({ run, checkpoint: first, passedOver: [] })
    expect(resolveCheckpoint(data, first.directory, 'best').directory).toBe(first.directory)
    expect(resolveCheckpoint(data, run.directory, 'best').directory).toBe(first.directory)
    expect(resolveCheckpoint(data, run.directory, 'last')).toMatchObject({
      directory: expect.stringMatching(/step-000002$/) as string,
      fallBack: null,
    })
  })

  test('the best by the metric of the run’s config', async () => {
    run = createRunFolder(data, { checkpoints: { bestBy: 'kl' } })
    await save(exampleCheckpoint(1, { reward: 0.9, metrics: { kl: 0.5 } }))
    await save(exampleCheckpoint(2, { reward: 0.1, metrics: { kl: 0.75 } }))
    expect(resolveCheckpoint(data, run.id, 'best').directory).toMatch(/step-000002$/)
  })

  test('no best without a held-out reward', async () => {
    await save(exampleCheckpoint(1))
    expect(() => resolveCheckpoint(data, run.id, 'best')).toThrow('has an eval reward')
  })

  test('a checkpoint that was being replaced when its process died is put back', async () => {
    const { directory } = await save(exampleCheckpoint(1))
    const { checkpoints } = runPaths(run.directory)
    renameSync(directory, path.join(checkpoints, '.step-000001.previous'))
    mkdirSync(path.join(checkpoints, '.step-000001.77.1.partial'))
    expect(resolveResume(data, run.id).checkpoint?.step).toBe(1)
    expect(readdirSync(checkpoints)).toEqual(['step-000001'])
  })
})

test('an export holds exactly the checkpoint', async () => {
  const saved = exampleCheckpoint(3)
  const { directory } = await save(saved)
  const out = path.join(data, 'exported')
  expect(await exportPeft(directory, out)).toEqual({ directory: out, tensors: 2, maxDifference: 0 })
  expect(readAdapter(out)).toEqual({ config: saved.lora, baseModel: 'some/model', tensors: saved.actor })
})
