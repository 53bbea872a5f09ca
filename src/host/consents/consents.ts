/**
 * Consents of the owner of a machine, which no config can give: to contents of Python files, to interpreters, and to sending the
 * values of environment variables to an address. One file in the data directory holds all of it.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { readJsonObject } from '#host/files/strictJson.ts'

const consentSchema = z.strictObject({
  format: z.literal(1),
  /** Absolute paths. */
  interpreters: z.array(z.strictObject({ path: z.string(), at: z.number() })),
  files: z.array(z.strictObject({ sha256: z.string(), path: z.string(), at: z.number() })),
  /** Environment variables, and where their values may be sent. */
  keys: z.array(z.strictObject({ variable: z.string(), origin: z.string(), at: z.number() })).default([]),
})

export type Consents = z.output<typeof consentSchema>

/** Path of the consents of a machine. Everything below takes it; null: nothing is allowed there. */
export const consentsFile = (dataDirectory: string): string =>
  path.join(dataDirectory, 'python-consents.json')

/** Reads all consents. Errors: AppError 'config/invalid' for a file that is damaged: then nothing is allowed. */
export function readConsents(consents: string | null): Consents {
  if (consents === null || !existsSync(consents)) return { format: 1, interpreters: [], files: [], keys: [] }
  const { data } = consentSchema.safeParse(readJsonObject(consents, 'config/invalid'))
  if (data !== undefined) return data
  throw new AppError(
    'config/invalid',
    `${consents} does not say what is allowed on this machine.`,
    'No Python was started and no key was sent. Delete the file and allow again what you trust.',
  )
}

/** Replaces the parts that `change` returns. Errors: AppError 'file/unwritable'; as `readConsents`. */
export function changeConsents(consents: string, change: (before: Consents) => Partial<Consents>): void {
  const before = readConsents(consents)
  makeFolder(path.dirname(consents))
  writeFileAtomic(consents, `${JSON.stringify({ ...before, ...change(before) }, null, 2)}\n`)
}
