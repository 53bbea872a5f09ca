import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { TestSpecification, Vitest } from 'vitest/node'
import { longest, LongestFirst } from '../../scripts/test/longestFirst.ts'

const fileOf = (name: string): string => path.join(import.meta.dirname, '..', `${name}.test.ts`)

test('every file that is to come first is there', () => {
  expect(longest.filter((name) => !existsSync(fileOf(name)))).toEqual([])
  expect(new Set(longest).size).toBe(longest.length)
})

test('the longest come first, whatever project they are of, and the others as before', async () => {
  const specification = (name: string, project: string) =>
    ({
      moduleId: fileOf(name),
      project: { name: project, config: { isolate: false, sequence: { groupOrder: 0 } } },
    }) as unknown as TestSpecification
  const cache = { getTestSpecificationResult: () => ({ failed: false, duration: 1 }) }
  const sequencer = new LongestFirst({ cache } as unknown as Vitest)
  const sorted = await sequencer.sort([
    specification('shared/plural', 'pure'),
    specification('host/store/ingest', 'unit'),
    specification('cli/training', 'unit'),
    specification('host/studies/members', 'unit'),
    specification('device/webgpu', 'alone'),
  ])
  expect(sorted.map(({ moduleId }) => moduleId)).toEqual(
    ['device/webgpu', 'cli/training', 'host/studies/members', 'shared/plural', 'host/store/ingest'].map(
      fileOf,
    ),
  )
})
