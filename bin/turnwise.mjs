#!/usr/bin/env node
/**
 * Starts the command line. It must run on any Node: an older one is only good enough to start the Node that npm
 * installed beside us. It also starts a new enough Node anew, because malloc reads its settings at process start.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isNewEnough, nodeProblem } from './node.mjs'

/** Set in the restarted process, so that it happens once. */
const CHILD_MARK = 'TURNWISE_CHILD'

/** As src/shared/runtimeEnvironment.ts: ONNX Runtime reports to its maker and multiplies in TF32 unless a process begins with it. */
const RUNTIME_ENVIRONMENT = { ORT_DISABLE_TELEMETRY: '1', NVIDIA_TF32_OVERRIDE: '0' }

const here = fileURLToPath(import.meta.url)

if (process.env[CHILD_MARK] === '1') {
  delete process.env[CHILD_MARK] // what the command line starts in turn starts afresh
  await runCommandLine()
} else {
  const node = suitableNode()
  if (node) restart(node)
  else refuse()
}

async function runCommandLine() {
  const root = join(dirname(here), '..')
  // The package has the bundle only; a checkout runs its sources, also when an older bundle lies about.
  const candidates = [join(root, 'src/cli/main.ts'), join(root, 'out/main/cli.js')]
  const found = candidates.find((file) => existsSync(file))
  // Tests of the sources name what was just built from them, which loads faster.
  const built = process.env['TURNWISE_BUILT']
  const entry = built !== undefined && found === candidates[0] ? join(built, 'cli.js') : found
  if (!entry) throw new Error(`Neither ${candidates.join(' nor ')} exists.`)
  const { main } = await import(pathToFileURL(entry).href)
  process.exitCode = await main(process.argv.slice(2))
}

/** This Node if it is new enough, else the one from npm, else null. */
function suitableNode() {
  if (isNewEnough()) return process.execPath
  try {
    const manifest = createRequire(here).resolve(`node-${process.platform}-${process.arch}/package.json`)
    const binary = join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(binary) ? binary : null
  } catch {
    return null
  }
}

function refuse() {
  console.error(`turnwise: ${nodeProblem}`)
  process.exitCode = 1
}

function restart(node) {
  const flags = [...process.execArgv, '--disable-warning=ExperimentalWarning']
  const command = [...flags, here, ...process.argv.slice(2)]
  const env = {
    ...compileCache(),
    ...mallocSettings(),
    ...process.env,
    ...RUNTIME_ENVIRONMENT,
    [CHILD_MARK]: '1',
  }
  // Becoming the new process leaves nobody in between: signals, terminal and exit status are its own.
  if (typeof process.execve === 'function' && process.platform !== 'win32')
    process.execve(node, [node, ...command], env)
  else startAndWait(node, command, env)
}

/**
 * Compiled code is kept beside the code, so that whoever may write the one may write the other; this process and those
 * it starts need not compile it again. Node goes without where the folder cannot be written.
 */
function compileCache() {
  return { NODE_COMPILE_CACHE: join(dirname(here), '../node_modules/.cache/turnwise') }
}

/**
 * Every result of ONNX Runtime is copied into a fresh buffer. glibc would map and unmap each large one, and every page
 * would be faulted in again at the next step; keep them on the heap instead, in few arenas. What is still larger, such as the
 * packed matrices of a billion parameters, is mapped, so that the system has it back once it is freed. Packed weights are read
 * from end to end with every token, which is faster in huge pages.
 */
function mallocSettings() {
  if (process.platform !== 'linux') return {}
  return {
    MALLOC_MMAP_THRESHOLD_: String(10 * 2 ** 20),
    MALLOC_TRIM_THRESHOLD_: String(2 ** 32), // never
    MALLOC_ARENA_MAX: '2',
    GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1',
  }
}

function startAndWait(node, command, env) {
  const child = spawn(node, command, { stdio: 'inherit', env })
  // Ctrl-C in a terminal reaches the whole group, the child included; a second copy would mean “stop at once”.
  const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  process.on('SIGINT', () => onTerminal || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`turnwise: Could not start ${node}: ${error.message}.`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    } else process.exitCode = code ?? 1
  })
}
