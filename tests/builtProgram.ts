/**
 * Builds the scripts that tests start as processes, in the way in which the program is built that is shipped: they load in a third of
 * the time that the sources take, and all tests together start a thousand. Those of tests are among them.
 */
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { resolveConfig } from 'electron-vite'
import { build, mergeConfig } from 'vite'

const root = path.join(import.meta.dirname, '..')
/** As deep as what is shipped, so that paths mean the same. */
const folder = path.join(root, 'out/test-main')
const processes = ['tests/host/*/*Process.ts', 'tests/e2e/hosts.ts']

function stateOfSources(): string {
  const sources = [
    'src/!(renderer|preload)/**/*.ts',
    'tests/**/!(*.test|*.spec).ts',
    'electron.vite.config.ts',
  ]
  const hash = createHash('sha256')
  for (const file of [...globSync(sources, { cwd: root }).toSorted(), 'package-lock.json'])
    hash.update(file).update(readFileSync(path.join(root, file)))
  return hash.digest('hex')
}

const stateOf = (program: string): string | null => {
  const file = path.join(program, 'state')
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

async function buildInto(outDir: string): Promise<void> {
  const { config } = await resolveConfig({ root, logLevel: 'warn' }, 'build', 'production')
  const scripts = globSync(processes, { cwd: root }).map((file) => [path.basename(file, '.ts'), file])
  const input = Object.fromEntries(scripts) as Record<string, string>
  await build(mergeConfig(config?.main ?? {}, { build: { outDir, rolldownOptions: { input } } }))
}

/** Builds, unless what is there is of the same sources, and says where it is to `ownScript` and to the launcher. */
export async function setup(): Promise<void> {
  const state = stateOfSources()
  if (stateOf(folder) !== state) {
    mkdirSync(path.dirname(folder), { recursive: true })
    const made = mkdtempSync(`${folder}-`)
    await buildInto(made)
    writeFileSync(path.join(made, 'state'), state)
    // Another run of tests may have been as fast.
    if (stateOf(folder) !== state) {
      rmSync(folder, { recursive: true, force: true })
      renameSync(made, folder)
    }
    rmSync(made, { recursive: true, force: true })
  }
  process.env['TURNWISE_BUILT'] = folder
}
