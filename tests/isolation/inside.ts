/** Runs in fresh namespaces: builds the stage, runs the program on it, writes what was seen. Started by isolated.ts. */
import { execFileSync, spawn } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import type { Seen } from './isolated.ts'

const [folder = '', report = '', program = '', ...args] = process.argv.slice(2)

/** The only way out; who follows it finds nobody. */
const wayOut = 'out0'
const [ownAddress, router, foreign] = ['10.99.0.1', '10.99.0.2', [10, 99, 7, 7]]

const command = (line: string): unknown => execFileSync('/bin/sh', ['-c', line], { stdio: 'pipe' })

function buildNetwork(): void {
  command(`ip link set lo up
    ip link add ${wayOut} type veth peer name nobody0
    ip address add ${ownAddress}/24 dev ${wayOut}
    ip link set nobody0 addrgenmode none && ip link set ${wayOut} addrgenmode none
    ip link set nobody0 up && ip link set ${wayOut} up
    ip route add default via ${router}`)
  // Without IPv6 a program that tries an address of that kind would be refused before a packet could be counted.
  command(`ip -6 address add fd99::1/64 dev ${wayOut} nodad && ip -6 route add default via fd99::2 || true`)
}

const mountPoint = (place: string): string => {
  const above = path.dirname(place)
  return above === place || statSync(above).dev !== statSync(place).dev ? place : mountPoint(above)
}

/** Returns the root to change to, and where what is written really goes: by the place that it covers. */
function buildFiles(): { readonly root: string; readonly changes: ReadonlyMap<string, string> } {
  command(`mount -t tmpfs none ${folder}`)
  const places = ['/', tmpdir(), homedir(), path.resolve(import.meta.dirname, '../..')]
  const points = [...new Set(places.map((place) => mountPoint(realpathSync(place))))].sort()
  const root = path.join(folder, 'root')
  const changes = new Map(points.map((point, i) => [point, path.join(folder, `changes${String(i)}`)]))
  for (const [point, upper] of changes) {
    for (const made of [root, upper, `${upper}.work`]) mkdirSync(made, { recursive: true })
    const options = `lowerdir=${point},upperdir=${upper},workdir=${upper}.work`
    command(`mount -t overlay overlay -o ${options} ${path.join(root, point)}`)
  }
  for (const system of ['proc', 'dev', 'sys']) command(`mount --rbind /${system} ${root}/${system}`)
  changes.set('/dev/shm', path.join(root, 'dev/shm'))
  writeFileSync(path.join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n')
  command(`mount -t tmpfs none ${root}/dev/shm
    mount --bind ${folder}/resolv.conf ${root}/etc/resolv.conf`)
  return { root, changes }
}

/** Answers every question with a machine that is not this one, so that who asked goes on to connect. */
async function serveNames(asked: Set<string>): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.on('message', (question, { port, address }) => {
    const labels: string[] = []
    let at = 12
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    asked.add(labels.join('.'))
    const isForV4 = question.readUInt16BE(at + 1) === 1
    const header = Buffer.from([
      question[0] ?? 0,
      question[1] ?? 0,
      0x81,
      0x80,
      0,
      1,
      0,
      Number(isForV4),
      0,
      0,
      0,
      0,
    ])
    const answer = isForV4
      ? Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...foreign])
      : Buffer.alloc(0)
    socket.send(Buffer.concat([header, question.subarray(12, at + 5), answer]), port, address)
  })
  socket.bind(53, '127.0.0.1')
  await once(socket, 'listening')
  return socket
}

/** What left through the way out; talk of the link itself (multicast, neighbours) is no program's doing. */
function packetsOut(): number {
  const line = readFileSync('/proc/net/dev', 'utf8')
    .split('\n')
    .find((each) => each.trim().startsWith(wayOut))
  const all = Number(line?.trim().split(/\s+/)[10])
  const v6 = Object.fromEntries(
    readFileSync(`/proc/net/dev_snmp6/${wayOut}`, 'utf8')
      .split('\n')
      .map((each) => each.split(/\s+/)),
  ) as Record<string, string>
  const ofTheLink = Number(v6['Icmp6OutMsgs']) - Number(v6['Icmp6OutNeighborSolicits'])
  return all - ofTheLink
}

const filesBelow = (place: string): string[] =>
  readdirSync(place, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.join(entry.parentPath, entry.name))

async function main(): Promise<void> {
  buildNetwork()
  const { root, changes } = buildFiles()
  const asked = new Set<string>()
  const names = await serveNames(asked)
  const before = packetsOut()
  const child = spawn('chroot', [root, program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)))
  const [status] = (await once(child, 'close')) as [number | null]
  names.close()
  const files = [...changes].flatMap(([point, upper]) =>
    filesBelow(upper).map((file) => path.join(point, path.relative(upper, file))),
  )
  const seen: Seen = {
    status,
    output,
    lookups: [...asked].sort(),
    packets: packetsOut() - before,
    files: files.sort(),
  }
  command(`umount ${folder}/root/dev/shm; umount -l ${folder}`)
  writeFileSync(report, JSON.stringify(seen))
}

await main()
