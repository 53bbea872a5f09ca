/** In a checkout the window is built where it is missing or older than its sources; a package brings it along. */
import { existsSync, globSync, statSync } from 'node:fs'
import path from 'node:path'
import { runProgram } from '#host/processes/programs.ts'
import { applicationFolder } from './desktop.ts'
import type { Output } from './output.ts'

const sources = ['src/**/*.*', '*.config.ts', 'package.json']
const results = ['out/main/index.js', 'out/preload/index.cjs', 'out/renderer/index.html']

/** Files that a window is made of; empty where all are there. */
export const missingBuild = (folder: string = applicationFolder): string[] =>
  results.filter((file) => !existsSync(path.join(folder, file)))

/** Whether anything that is built of the sources of a folder is missing or older than one of them. */
export function isStale(folder: string): boolean {
  const changed = (file: string) => statSync(path.join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const newest = Math.max(...globSync(sources, { cwd: folder }).map(changed))
  return results.some((file) => changed(file) < newest)
}

/** Builds it in a checkout that has all packages, where it has to be. */
export async function buildWindow(output: Output, folder: string = applicationFolder): Promise<void> {
  const builder = path.join(folder, 'node_modules/electron-vite/bin/electron-vite.js')
  const isCheckout = existsSync(path.join(folder, 'src/renderer')) && existsSync(builder)
  if (isCheckout && isStale(folder)) {
    output.note('Building the window; this takes half a minute and is done once.')
    await runProgram({ file: process.execPath, args: [builder, 'build', folder, '--logLevel', 'error'] })
  }
}
