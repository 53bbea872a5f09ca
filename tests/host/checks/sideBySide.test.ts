import path from 'node:path'
import { InferenceSession } from '#engine/runtime/onnxRuntime.ts'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { randomStream } from '#shared/random.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import type { AnsweringRole } from '#engine/runtime/adapterParameters.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeAdapter } from '#host/adapters/peft.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { openModel } from '#host/models/openModel.ts'
import { openGroups, type OpenedGroup } from '#host/jobs/process/sideBySide.ts'
import { oneThread } from '../../engine/runtime/tinyModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const root = temporaryFolder()
const directory = path.join(root, 'model')
const other = path.join(root, 'other')
const cacheDirectory = path.join(root, 'cache')
const adapters: Readonly<Record<string, LoraConfig>> = {
  small: { rank: 2, alpha: 6, rsLora: false, targets: ['q_proj', 'down_proj'] },
  large: { rank: 5, alpha: 3, rsLora: false, targets: ['v_proj', 'gate_proj', 'down_proj'] },
  stabilised: { rank: 3, alpha: 4, rsLora: true, targets: ['k_proj', 'o_proj', 'up_proj'] },
}

beforeAll(async () => {
  await writeRandomModel(directory, modelShapes['tiny-llama'], 1, 'F32')
  await writeRandomModel(other, modelShapes['tiny-llama'], 2, 'F32')
  const { config: model } = openModelFolder(directory)
  for (const [name, config] of Object.entries(adapters)) {
    const tensors = loraSlots(model, config).map(({ name: tensor, shape, size, offset }) => ({
      name: tensor,
      shape,
      data: Float32Array.from({ length: size }, (_, at) => Math.sin(7 * (offset + at) + name.length) / 3),
    }))
    await writeAdapter(path.join(root, name), { config, baseModel: null, tensors, metadata: {} })
  }
})

const candidate = (adapter: string | null, model = directory) => ({
  directory: model,
  adapter: adapter === null ? null : path.join(root, adapter),
})

async function answers(policy: OrtPolicy, role: AnsweringRole) {
  const requests = [{ promptIds: Int32Array.of(3, 1, 4, 1), streams: [randomStream(1, 0)] }]
  const sampling = {
    greedy: true,
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    minNewTokens: 0,
    maxNewTokens: 12,
    stopIds: [],
    stopStrings: [],
  }
  for await (const { ids, logprobs } of policy.generate(requests, { role, sampling }))
    return { ids: [...ids], logprobs: [...logprobs] }
  throw new Error('Expected a completion.')
}

async function alone(adapter: string | null, model = directory) {
  using opened = await openModel({
    ...candidate(adapter, model),
    device: oneThread,
    precision: 'f32',
    base: null,
    maxRows: 1,
    cacheDirectory,
  })
  return await answers(opened.policy, opened.role)
}

const inGroups = (candidates: ReturnType<typeof candidate>[]): AsyncGenerator<OpenedGroup> =>
  openGroups({ candidates, device: oneThread, maxRows: 1, cacheDirectory })

describe('adapters of one base, side by side', () => {
  const names = ['small', null, 'large', 'stabilised']

  test('answer as they do alone, in any order, from one base', async () => {
    const create = vi.spyOn(InferenceSession, 'create')
    const expected = []
    for (const name of names) expected.push(await alone(name))
    const opened = create.mock.calls.length
    create.mockClear()
    const found = new Map<number, Awaited<ReturnType<typeof answers>>>()
    for await (const each of inGroups(names.map((name) => candidate(name)))) {
      using group = each
      // Each twice: an answer must not depend on whose turn it was before.
      for (const [place, { role }] of [...group.members, ...group.members.toReversed()])
        found.set(place, await answers(group.policy, role))
    }
    expect(create.mock.calls.length * names.length).toBe(opened)
    create.mockRestore()
    expected.forEach(({ ids, logprobs }, place) => {
      expect(found.get(place)?.ids).toEqual(ids)
      logprobs.forEach((value, at) =>
        expect(Math.abs(value - found.get(place)!.logprobs[at]!)).toBeLessThan(1e-5),
      )
    })
    const texts = expected.map(({ logprobs }) => logprobs.join())
    expect(new Set(texts).size).toBe(names.length)
  })

  test('of another base are opened after it', async () => {
    const candidates = [candidate('small'), candidate(null, other), candidate('large')]
    const places: number[][] = []
    for await (const each of inGroups(candidates)) {
      using group = each
      places.push(group.members.map(([place]) => place))
      const [[, { role }] = [0, { role: 'base' as const }]] = group.members
      if (places.length === 2) expect(await answers(group.policy, role)).toEqual(await alone(null, other))
    }
    expect(places).toEqual([[0, 2], [1]])
  })
})

test('candidates of another context stand on another base, which takes no longer sequences', async () => {
  const candidates = [candidate('small'), { ...candidate('large'), contextLength: 40 }]
  const limits: [number, number[]][] = []
  for await (const group of openGroups({ candidates, device: oneThread, maxRows: 2, cacheDirectory })) {
    using opened = group
    limits.push([opened.policy.contextLength, opened.members.map(([place]) => place)])
  }
  expect(limits).toEqual([
    [512, [0]],
    [40, [1]],
  ])
})
