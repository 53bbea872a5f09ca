/** Ready-made rewards to start from: code to copy and change, each with examples of what it pays for and what not. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { readJsonObject } from '#host/files/strictJson.ts'
import { resourcesDirectory } from '../dataDirectory.ts'
import type { CodeSource } from '../sandbox/sandbox.ts'
import { testCaseSchema, type TestCase } from './testCases.ts'

const manifestSchema = z.strictObject({
  rewards: z.array(
    z.strictObject({
      id: z.string(),
      title: z.string(),
      description: z.string(),
      kind: z.enum(['reward', 'environment']),
      file: z.string(),
      examples: z.array(testCaseSchema),
    }),
  ),
})

export interface GalleryEntry {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly kind: 'reward' | 'environment'
  /** Absolute path. */
  readonly file: string
  readonly source: CodeSource
  readonly examples: readonly TestCase[]
}

export function readGallery(): GalleryEntry[] {
  const folder = path.join(resourcesDirectory, 'rewards')
  const { rewards } = manifestSchema.parse(
    readJsonObject(path.join(folder, 'manifest.json'), 'config/invalid'),
  )
  return rewards.map((entry) => {
    const file = path.join(folder, entry.file)
    return { ...entry, file, source: { code: readFileSync(file, 'utf8'), language: 'ts' } }
  })
}
