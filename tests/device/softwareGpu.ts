/** Checks on the software GPU (softwareDriver.ts), in processes that see it. */
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { AskedProcess } from '../askedProcess.ts'
import { softwareGpu } from './softwareDriver.ts'

/** One process for the checks of a test file, so that shaders are compiled once; a crash ends it, and the next check begins another. */
let checks: AskedProcess | null = null

/** What a check of checks.ts answers. */
export async function onSoftwareGpu<Answer>(check: string, ...args: readonly string[]): Promise<Answer> {
  // The loader reads its path only at the start.
  checks ??= new AskedProcess(join(import.meta.dirname, 'checks.ts'), softwareGpu)
  try {
    return (await checks.ask([check, ...args])) as Answer
  } catch (error) {
    checks = null
    throw error
  }
}

afterAll(() => {
  checks?.[Symbol.dispose]()
  checks = null
})
