/**
 * A second wall around the process that runs user code. The first is the virtual machine; should code ever get out of
 * it, Node's permission model still refuses files, programs, threads and add-ons, and Linux files that are written.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the process loads besides the files next to its script. */
const packages = ['quickjs-emscripten-core', '@jitl/quickjs-wasmfile-release-sync', '@jitl/quickjs-ffi-types']

/** An environment without secrets; the time zone is the same everywhere. */
const bareEnvironment = (): NodeJS.ProcessEnv => ({
  TZ: 'UTC',
  ...(process.env['SystemRoot'] === undefined ? {} : { SystemRoot: process.env['SystemRoot'] }),
  ...(Object.hasOwn(process.versions, 'electron') ? { ELECTRON_RUN_AS_NODE: '1' } : {}),
})

/** Starts a script that talks over Node's channel. `isConfined` false: where the program knows no permission model. */
export function forkConfined(
  script: string,
  isConfined: boolean,
  args: readonly string[] = [],
): ChildProcess {
  const options = [
    ...['--max-old-space-size=256', '--disable-warning=ExperimentalWarning'],
    ...(isConfined ? permissionOptions(script) : []),
  ]
  return fork(script, args, {
    serialization: 'advanced',
    env: bareEnvironment(),
    ...limited(options),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
}

/** Nothing but reading its own code. */
function permissionOptions(script: string): string[] {
  const folders = [path.dirname(script), ...packages.map(folderOf)]
  const readable = new Set(folders.flatMap((folder) => [folder, realpathSync(folder)]))
  // In a packaged program they lie in an archive, which is read as a whole.
  for (const folder of [...readable]) {
    const archive = /^.*?\.asar(?=[\\/]|$)/.exec(folder)?.[0]
    if (archive !== undefined) readable.add(archive)
  }
  const manifest = ownManifest(script)
  return [
    '--permission',
    ...[...readable].map((folder) => `--allow-fs-read=${folder}`),
    ...(manifest === null ? [] : [`--allow-fs-read=${manifest}`]),
  ]
}

/** The package.json that says what kind of modules these are. */
function ownManifest(script: string): string | null {
  for (let folder = path.dirname(script); ; folder = path.dirname(folder)) {
    const file = path.join(folder, 'package.json')
    if (existsSync(file)) return file
    if (folder === path.dirname(folder)) return null
  }
}

/** A package's folder: the last one of its name on the way to its main file. */
function folderOf(name: string): string {
  const main = fileURLToPath(import.meta.resolve(name))
  const own = path.join('node_modules', ...name.split('/'))
  return main.slice(0, main.lastIndexOf(own) + own.length)
}

const shell = '/bin/sh'

/** KiB of data, files of no size, few of them open, no core dump. A shell that knows one of them not goes on. */
const limits = ['ulimit -d 2097152', 'ulimit -f 0', 'ulimit -n 128', 'ulimit -c 0']

/** Killed with its parent, also while it is too busy to hear that its channel has closed; not every system has it. */
const withParent = 'setpriv --pdeathsig KILL'

/** Under the limits of Linux where there is a shell to set them; it is replaced by the program. */
function limited(options: readonly string[]): { execPath?: string; execArgv: string[] } {
  if (process.platform !== 'linux' || !existsSync(shell)) return { execArgv: [...options] }
  const command = [
    ...limits.map((limit) => `${limit} 2>/dev/null`),
    `if ${withParent} true 2>/dev/null; then exec ${withParent} "$0" "$@"; fi`,
    'exec "$0" "$@"',
  ].join('; ')
  return { execPath: shell, execArgv: ['-c', command, process.execPath, ...options] }
}
