/** What `npm start` does: builds the window where that is missing or older than its sources, and opens it. */
import { spawnSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const sources = ['src/**/*.*', '*.config.ts', 'package.json']
const results = ['out/main/index.js', 'out/preload/index.cjs', 'out/renderer/index.html']

/** Whether anything that is built of the sources of a folder is missing or older than one of them. */
export function isStale(folder: string): boolean {
  const changed = (file: string) => statSync(path.join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const newest = Math.max(...globSync(sources, { cwd: folder }).map(changed))
  return results.some((file) => changed(file) < newest)
}

/** Ends with the first command that fails. */
function run(script: string, ...args: readonly string[]): void {
  // A Ctrl-C is for the command; this process waits for what it makes of it.
  const { status } = spawnSync(process.execPath, [path.join(root, script), ...args], {
    cwd: root,
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(status ?? 1)
}

if (import.meta.main) {
  process.on('SIGINT', () => undefined)
  if (isStale(root)) run('node_modules/electron-vite/bin/electron-vite.js', 'build', '--logLevel', 'warn')
  run('bin/turnwise.mjs', 'app', ...process.argv.slice(2))
}
