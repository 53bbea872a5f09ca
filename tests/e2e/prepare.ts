/** What all journeys share, made once: the window as it is shipped, in a folder of its own, and two trained runs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build, mergeConfig } from 'vite'
import { rendererConfig } from '../../vite.renderer.config.ts'
import { setup as buildProgram } from '../builtProgram.ts'
import { connectTo, startHost, windowVariable } from './host.ts'
import { historyVariable, trainHistory } from './support.ts'

async function buildWindow(): Promise<void> {
  if (process.env[windowVariable] !== undefined) return
  const outDir = path.resolve('out/test-window')
  await build(mergeConfig(rendererConfig, { configFile: false, logLevel: 'warn', build: { outDir } }))
  process.env[windowVariable] = outDir
}

/** Resolves with what takes the runs away again. */
export default async function prepare(): Promise<() => void> {
  await Promise.all([buildWindow(), buildProgram()])
  const dataDirectory = mkdtempSync(path.join(tmpdir(), 'turnwise-history-'))
  const host = await startHost(dataDirectory)
  try {
    const client = await connectTo(host.url)
    await trainHistory(client)
    client.close()
  } finally {
    await host.stop()
  }
  process.env[historyVariable] = path.join(dataDirectory, 'runs')
  return () => rmSync(dataDirectory, { recursive: true, force: true })
}
