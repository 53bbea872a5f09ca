/** A disk of a few kilobytes for one command: a file system in memory that only the command sees and that ends with it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** With rights of its own where the account has none. */
const prefixes = [
  ['unshare', '--mount'],
  ['unshare', '--map-root-user', '--mount'],
] as const

const mountAndRun = 'mount -t tmpfs -o size="$1" none "$2" && shift 2 && exec "$@"'

const commandFor = (prefix: readonly string[], size: string, folder: string, command: readonly string[]) => [
  ...prefix,
  'sh',
  '-c',
  mountAndRun,
  'sh',
  size,
  folder,
  ...command,
]

function works(prefix: readonly string[]): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-mount-'))
  try {
    const [file = '', ...args] = commandFor(prefix, '64k', folder, ['true'])
    execFileSync(file, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const readOnly = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'

/** A program and its arguments: the command, to which the folder is one that nobody can write to. */
export function readOnlyCommand(folder: string, command: readonly string[]): [string, string[]] {
  if (usable === undefined) throw new Error('Expected a machine where a file system can be mounted.')
  const [file = '', ...args] = usable
  return [file, [...args, 'sh', '-c', readOnly, 'sh', folder, ...command]]
}

const usable = prefixes.find((prefix) => works(prefix))

/** Whether this machine lets a command have a disk of its own. */
export const canMount = usable !== undefined

/** A program and its arguments: the command, with `folder` as an empty disk of that size, such as `1m`. */
export function smallDiskCommand(
  size: string,
  folder: string,
  command: readonly string[],
): [string, string[]] {
  if (usable === undefined) throw new Error('Expected a machine where a file system can be mounted.')
  const [file = '', ...args] = commandFor(usable, size, folder, command)
  return [file, args]
}

/** Stdout of such a command. */
export function runOnSmallDisk(size: string, folder: string, command: readonly string[]): string {
  return execFileSync(...smallDiskCommand(size, folder, command), { encoding: 'utf8' })
}

/** The name of a test that needs such a disk: it says itself where it does nothing. */
export const onSmallDisk = (name: string): string =>
  canMount ? name : `NOT RUN, since nothing can be mounted here: ${name}`
