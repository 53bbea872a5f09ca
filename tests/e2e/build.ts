/** Builds the window as it is shipped, into a folder of its own, once for all journeys. */
import path from 'node:path'
import { build, mergeConfig } from 'vite'
import { rendererConfig } from '../../vite.renderer.config.ts'

/** Where journeys find it. */
export const windowVariable = 'TURNWISE_TEST_WINDOW'

export default async function buildWindow(): Promise<void> {
  if (process.env[windowVariable] !== undefined) return
  const outDir = path.resolve('out/test-window')
  await build(mergeConfig(rendererConfig, { configFile: false, logLevel: 'warn', build: { outDir } }))
  process.env[windowVariable] = outDir
}
