/**
 * The host's end of a sandbox process: starts it, asks it, and kills it when it passes a limit. What the virtual machine's
 * own limits do not catch (a built-in function that never looks at the clock) ends here.
 */
import { type ChildProcess, fork } from 'node:child_process'
import path from 'node:path'
import { existsSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { AppError } from '#shared/errors.ts'
import { ownScript } from '#host/processes/childProcess.ts'
import { startLimit } from '#host/processes/limits.ts'
import { Inbox } from '#host/processes/messages.ts'
import { processMeter } from '#host/processes/processorTime.ts'
import { Overrun, withinLimit, type WorkLimit } from '#host/processes/workLimit.ts'
import { failureJson, type FromSandbox, stopped, type ToSandbox } from './protocol.ts'

/** The process has ended by itself. */
export interface Gone {
  readonly type: 'gone'
}

/** Describes the failure of the call during which the process ended or was killed. */
export function endText(end: Overrun | Gone, callMs: number): string {
  if (!(end instanceof Overrun)) return failureJson('exception', 'The process that ran it ended.')
  return failureJson('timeout', end.kind === 'work' ? stopped(callMs) : `Stopped because ${end.message}.`)
}

/** False once this program has shown that it does not start with Node's permission model. */
let isConfined = process.allowedNodeEnvironmentFlags.has('--permission')

export class SandboxLink implements Disposable {
  readonly #child: ChildProcess
  readonly #inbox = new Inbox<FromSandbox | Gone>()

  constructor() {
    this.#child = forkConfined(ownScript('../sandbox/sandboxProcess.ts'), isConfined)
    this.#child.on('message', (message) => this.#inbox.add(message as FromSandbox))
    const gone = () => this.#inbox.add({ type: 'gone' })
    this.#child.once('error', gone)
    this.#child.once('exit', gone)
  }

  /** A process that answers. Errors: AppError 'sandbox/failed' when it cannot be started. */
  static async start(): Promise<SandboxLink> {
    const link = new SandboxLink()
    const first = await link.next(startLimit)
    if ('type' in first && first.type === 'ready') return link
    const hasRefused = isConfined && link.#child.exitCode !== null
    link[Symbol.dispose]()
    if (hasRefused) {
      // Nothing of the user's has been loaded: it is the program that does not start this way.
      isConfined = false
      const unconfined = await SandboxLink.start()
      process.emitWarning(
        "Node's permission model could not be used here: reward code runs in its virtual machine alone.",
      )
      return unconfined
    }
    throw new AppError(
      'sandbox/failed',
      'The process that runs reward code could not be started.',
      'Other programs may have used up memory or processes; close some and try again.',
    )
  }

  send(message: ToSandbox): void {
    if (this.#child.connected) this.#child.send(message)
  }

  /** The next message, or why there is none: the process is of no use then. */
  next(limit: WorkLimit): Promise<FromSandbox | Gone | Overrun> {
    return withinLimit(
      this.#inbox.next(),
      processMeter(() => this.#child.pid ?? null),
      limit,
    )
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL')
  }
}

// A second wall around the process that runs user code. The first is the virtual machine; should code ever get out of
// it, Node's permission model still refuses files, programs, threads and add-ons, and Linux files that are written.

/** Packages that the process loads besides the files next to its script. */
const packages = [
  'acorn',
  'quickjs-emscripten-core',
  '@jitl/quickjs-wasmfile-release-sync',
  '@jitl/quickjs-ffi-types',
]

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

/** Node options that permit nothing but reading its own code. */
function permissionOptions(script: string): string[] {
  const folders = [path.dirname(script), ...packages.map(folderOf)]
  const readable = new Set(folders.flatMap((folder) => [folder, realpathSync(folder)]))
  // In a packaged program they lie in an archive, which is read as a whole.
  for (const folder of [...readable]) {
    const archive = /^.*?\.asar(?=[\\/]|$)/.exec(folder)?.[0]
    if (archive !== undefined) readable.add(archive)
  }
  const manifest = ownManifest(script)
  const files = [...readable, ...languageFile(script), ...(manifest === null ? [] : [manifest])]
  return ['--permission', ...files.map((file) => `--allow-fs-read=${file}`)]
}

/** File of the language of losses; in a built program it is part of the script. */
const languageFile = (script: string): string[] =>
  script.endsWith('.ts') ? [path.join(path.dirname(script), '../../shared/lossLanguage.ts')] : []

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

/** Limits: data in KiB, no writing to files, few files open, no core dump. A shell ignores those that it does not know. */
const limits = ['ulimit -d 2097152', 'ulimit -f 0', 'ulimit -n 128', 'ulimit -c 0']

/** Kills the process with its parent, also while it is too busy to hear that its channel has closed; not every system has it. */
const withParent = 'setpriv --pdeathsig KILL'

/** Folders of the system alone: the shell's own default may have the working folder in it. */
const systemPath = 'PATH=/usr/sbin:/usr/bin:/sbin:/bin'

/** Starts Node under the limits of Linux if there is a shell to set them; Node then replaces the shell. */
function limited(options: readonly string[]): { execPath?: string; execArgv: string[] } {
  if (process.platform !== 'linux' || !existsSync(shell)) return { execArgv: [...options] }
  const command = [
    systemPath,
    ...limits.map((limit) => `${limit} 2>/dev/null`),
    `if ${withParent} true 2>/dev/null; then exec ${withParent} "$0" "$@"; fi`,
    'exec "$0" "$@"',
  ].join('; ')
  return { execPath: shell, execArgv: ['-c', command, process.execPath, ...options] }
}
