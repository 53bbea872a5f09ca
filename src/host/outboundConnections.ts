/**
 * Watches the connections of this host and every process it started to other machines, read from the system's socket
 * table, so that those of libraries are seen too. Linux only; a socket that exists only between two polls can be
 * missed, and so can a UDP socket that was never connected.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'

export type Connection = OutputOf<Api, 'system.load'>['connections']['latest'][number]

const lookEveryMs = 500
const shownConnections = 50

const tables = [
  ['tcp', '/proc/net/tcp'],
  ['tcp', '/proc/net/tcp6'],
  ['udp', '/proc/net/udp'],
  ['udp', '/proc/net/udp6'],
] as const

export class ConnectionWatch implements Disposable {
  /** False where the system has no such table. */
  readonly isWatching = process.platform === 'linux'
  readonly since = Date.now()
  readonly #latest: Connection[] = []
  #count = 0
  /** Sockets to other machines, ours or not, that were open at the last look, and at the one before: a look may miss one. */
  #known = new Set<string>()
  #knownBefore = new Set<string>()
  readonly #timer: NodeJS.Timeout | null

  constructor() {
    this.#timer = this.isWatching ? setInterval(() => this.look(), lookEveryMs).unref() : null
  }

  get count(): number {
    return this.#count
  }

  /** The newest, at most 50. */
  get latest(): readonly Connection[] {
    return this.#latest
  }

  look(): void {
    const open = openSockets()
    const unknown = [...open].filter(([inode]) => !this.#known.has(inode) && !this.#knownBefore.has(inode))
    this.#knownBefore = this.#known
    this.#known = new Set(open.keys())
    if (unknown.length === 0) return
    const owners = socketOwners(ownProcesses())
    for (const [inode, socket] of unknown) {
      const pid = owners.get(inode)
      if (pid === undefined) continue
      this.#count++
      this.#latest.push({ ...socket, pid, seenAt: Date.now() })
      if (this.#latest.length > shownConnections) this.#latest.shift()
    }
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }
}

type Socket = Pick<Connection, 'protocol' | 'address' | 'port'>

/**
 * Returns the open sockets whose other end is not this machine, by inode: a table that changes while it is read may
 * show one socket twice.
 */
function openSockets(): ReadonlyMap<string, Socket> {
  const sockets = new Map<string, Socket>()
  for (const [protocol, file] of tables)
    for (const line of linesOf(file).slice(1)) {
      const [, , remote = '', , , , , , , inode = '0'] = line.trim().split(/\s+/)
      const [written = '', port = ''] = remote.split(':')
      const bytes = addressBytes(written)
      // A socket that is closing belongs to nobody any more; one without another end has none.
      if (inode === '0' || isOwnMachine(bytes)) continue
      sockets.set(inode, { protocol, address: addressText(bytes), port: parseInt(port, 16) })
    }
  return sockets
}

/** The kernel writes an address as 32-bit words in the processor's order: little-endian wherever Node runs. */
const addressBytes = (written: string): Buffer => {
  const bytes = Buffer.from(written, 'hex').swap32()
  const isMapped = bytes.length === 16 && bytes.subarray(0, 12).equals(mappedPrefix)
  return isMapped ? bytes.subarray(12) : bytes
}
const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex')

/** Loopback, or no address at all. */
function isOwnMachine(bytes: Buffer): boolean {
  if (bytes.every((byte) => byte === 0)) return true
  return bytes.length === 4 ? bytes[0] === 127 : bytes.equals(loopback6)
}
const loopback6 = Buffer.from('00000000000000000000000000000001', 'hex')

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return [...bytes].join('.')
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1) // in its shortest form
}

/**
 * Returns this process and its descendants in the same session: a browser that was opened for a person is in a session
 * of its own, and what it does is not ours.
 */
function ownProcesses(): number[] {
  const processes = entriesOf('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(processFacts)
  const session = processes.find(({ pid }) => pid === process.pid)?.session
  const candidates = processes.filter((each) => each.session === session)
  const own = [process.pid]
  for (const parent of own) own.push(...candidates.flatMap(({ pid, ppid }) => (ppid === parent ? pid : [])))
  return own
}

function processFacts(name: string): { pid: number; ppid: number; session: number }[] {
  const [stat = ''] = linesOf(`/proc/${name}/stat`)
  // The program's name stands in parentheses and may hold anything.
  const [, ppid, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return session === undefined ? [] : [{ pid: Number(name), ppid: Number(ppid), session: Number(session) }]
}

/** Returns the process that owns each socket, by inode. */
function socketOwners(pids: readonly number[]): ReadonlyMap<string, number> {
  const owned = pids.flatMap((pid) =>
    entriesOf(`/proc/${pid}/fd`).flatMap((descriptor) => {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${descriptor}`)) ?? []
      return inode === undefined ? [] : [[inode, pid] as const]
    }),
  )
  return new Map(owned)
}

// Processes end while they are being looked at.
const linesOf = (file: string): string[] => orElse([], () => readFileSync(file, 'utf8').trimEnd().split('\n'))
const entriesOf = (folder: string): string[] => orElse([], () => readdirSync(folder))
const linkOf = (file: string): string => orElse('', () => readlinkSync(file))

function orElse<T>(otherwise: T, read: () => T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
