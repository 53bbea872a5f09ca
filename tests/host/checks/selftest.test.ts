import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { architectures } from '#engine/models/registry.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { gapFinding, gradientFindings, openSelftestPolicy, runSelftest } from '#host/checks/selftest.ts'
import { isLong, isWhole, wholeTitle } from '../../sweeps.ts'
import type { SelftestFinding } from '#host/devices/deviceRecords.ts'

const device = { kind: 'cpu', threads: 1, deviceId: 0 } as const
const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-selftest-'))
let policy: OrtPolicy

beforeAll(async () => {
  await writeRandomModel(directory, modelShapes['tiny-llama'], 5, 'F32')
  policy = await openSelftestPolicy(directory, device)
})

afterAll(() => {
  policy[Symbol.dispose]()
  rmSync(directory, { recursive: true })
})

async function collect(findings: AsyncIterable<SelftestFinding>): Promise<SelftestFinding[]> {
  const all: SelftestFinding[] = []
  for await (const finding of findings) all.push(finding)
  return all
}

/** The same policy with one answer changed. */
const changed = <Name extends keyof OrtPolicy>(name: Name, answer: OrtPolicy[Name]): OrtPolicy =>
  new Proxy(policy, {
    get: (target, key) => {
      if (key === name) return answer
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })

test('a right installation passes', async () => {
  const findings = await collect(runSelftest({ device, full: false }))
  expect(findings.filter(({ passed }) => !passed)).toEqual([])
  expect(new Set(findings.map(({ name }) => name.split('/')[0]))).toEqual(
    new Set(['operators', 'products', 'tiny-qwen3', 'precisions']),
  )
  expect(findings.filter(({ name }) => name.includes('/gradient/')).length).toBe(14)
})

/** Up to the long run until the third architecture begins: what they compute is held to transformers in reference.test.ts. */
async function architecturesAsked(): Promise<SelftestFinding[]> {
  const all: SelftestFinding[] = []
  const shapes = new Set<string>()
  for await (const finding of runSelftest({
    device,
    full: true,
    parts: ['architectures'],
    directions: 1,
  })) {
    shapes.add(finding.name.split('/')[0]!)
    if (!isLong && shapes.size > 2) break
    all.push(finding)
  }
  return all
}

// That each architecture computes what transformers does is said by reference.test.ts in every run.
const everything = 'asked for everything, it goes through every architecture'
test.runIf(isWhole)(wholeTitle(everything), async () => {
  const findings = await architecturesAsked()
  expect(findings.filter(({ passed }) => !passed)).toEqual([])
  const shapes = [...new Set(findings.map(({ name }) => name.split('/')[0]!))]
  const families = shapes.map((shape) => modelShapes[shape as ModelShapeName].modelType)
  const every = new Set(architectures.map(({ modelType }) => modelType))
  if (isLong) expect(new Set(families)).toEqual(every)
  else expect([...new Set(families)].filter((family) => every.has(family))).toHaveLength(2)
  for (const shape of shapes) {
    const own = findings.filter(({ name }) => name.startsWith(`${shape}/`))
    expect(own.filter(({ name }) => name.includes('/gradient/')).length).toBeGreaterThanOrEqual(8)
    expect(own.some(({ name }) => name.endsWith('/samplerGap'))).toBe(true)
  }
})

test('a gradient that is one percent off in one kind of tensor is found, and no other blamed', async () => {
  const wrong = changed('gradientTensors', async () =>
    (await policy.gradientTensors()).map((tensor) =>
      tensor.name.endsWith('v_proj.lora_B')
        ? { ...tensor, data: tensor.data.map((value) => value * 1.01) }
        : tensor,
    ),
  )
  const findings = await collect(gradientFindings(wrong, 'wrong', 2))
  expect(findings.filter(({ passed }) => !passed).map(({ name }) => name)).toEqual([
    'wrong/gradient/v_proj.lora_B',
  ])
})

test('a gradient that is missing is found', async () => {
  const wrong = changed('gradientTensors', async () =>
    (await policy.gradientTensors()).map((tensor) =>
      tensor.name.endsWith('gate_proj.lora_A') ? { ...tensor, data: tensor.data.map(() => 0) } : tensor,
    ),
  )
  const findings = await collect(gradientFindings(wrong, 'wrong', 1))
  expect(findings.filter(({ passed }) => !passed).map(({ name }) => name)).toEqual([
    'wrong/gradient/gate_proj.lora_A',
  ])
})

test('a sampler that records other log-probabilities is found', async () => {
  const wrong = changed('generate', async function* (requests, options) {
    for await (const completion of policy.generate(requests, options)) {
      yield { ...completion, logprobs: completion.logprobs.map((logprob) => logprob + 1e-3) }
    }
  })
  expect((await gapFinding(policy, 'right')).passed).toBe(true)
  expect(await gapFinding(wrong, 'wrong')).toMatchObject({
    passed: false,
    sentence: expect.stringContaining('disagree') as string,
  })
})
