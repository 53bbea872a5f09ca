import { expect, test } from 'vitest'
import type { Load } from '#renderer/client/live.ts'
import { deviceLoadWords } from '#renderer/client/words.ts'

type Run = Load['runs'][number]

const run = { runId: 'a', device: 'webgpu', cpuShare: 0.5, card: null } satisfies Run
const training = [{ runId: 'a', privateBytes: 310e6, mappedBytes: 1e6 }]
const words = (own: Partial<Run>, processes: typeof training = training) =>
  deviceLoadWords({ runs: [{ ...run, ...own }], memory: { training: processes } } as unknown as Load, 'a')

test('the foot tells of the card where the system does, else of the process, and nothing that is not known', () => {
  const card = { usedBytes: 3.1e9, totalBytes: 8e9, share: 0.97 }
  expect(words({ card })).toBe('WebGPU, 3.1 GB of 8 GB, 97 % busy')
  expect(words({ card: { ...card, share: null } })).toBe('WebGPU, 3.1 GB of 8 GB')
  expect(words({})).toBe('WebGPU, 310 MB, CPU 50 %')
  expect(words({ device: 'cpu' })).toBe('310 MB, CPU 50 %')
  expect(words({ device: 'cpu', cpuShare: null })).toBe('310 MB')
  expect(words({ cpuShare: null }, [])).toBe('WebGPU')
  expect(words({ device: null })).toBe('')
  expect(deviceLoadWords(null, 'a')).toBe('')
})
