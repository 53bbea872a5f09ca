/** The project built into a folder of its own, as it lies on a disk that has nothing but what is shipped. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

export const root = path.resolve(import.meta.dirname, '../..')

/** Names a folder that has been built already. */
export const buildVariable = 'TURNWISE_TEST_BUILD'

/** `parent`: where the folder is made. */
export function buildProject(parent: string = tmpdir()): Disposable & { readonly folder: string } {
  const folder = mkdtempSync(path.join(parent, 'turnwise-built-'))
  const done = process.env[buildVariable]
  if (done === undefined) build(folder)
  else cpSync(path.join(done, 'out'), path.join(folder, 'out'), { recursive: true })
  for (const name of ['package.json', 'bin'])
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true })
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

function build(folder: string): void {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      path.join(root, 'node_modules/electron-vite/bin/electron-vite.js'),
      ...['build', '--outDir', path.join(folder, 'out'), '--logLevel', 'warn'],
    ],
    { cwd: root, encoding: 'utf8', env: { ...process.env, NODE_ENV: 'production' } },
  )
  if (status !== 0) throw new Error(stdout + stderr)
}

/** As a project whose packages and resources are the checkout's own. */
export function linkProject(folder: string): void {
  for (const name of ['node_modules', 'resources'])
    symlinkSync(path.join(root, name), path.join(folder, name))
}
