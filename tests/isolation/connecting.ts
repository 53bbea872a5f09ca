/** Connects to other machines, itself and in processes it starts, and prints what the watch saw of it. */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { ConnectionWatch } from '#host/outboundConnections.ts'

/** Nobody answers there: the socket stays open until it gives up. */
const knock = (host: string, port: number) => connect(port, host).on('error', () => undefined)

if (process.argv[2] === 'child') {
  knock('203.0.113.2', 8443)
  await setTimeout(600_000)
}

using watch = new ConnectionWatch()
const start = (options: object) =>
  spawn(process.execPath, [import.meta.filename, 'child'], { stdio: 'ignore', ...options })
knock('203.0.113.1', 443)
knock('2001:db8::1', 443)
knock('127.0.0.1', 1)
createSocket('udp4').connect(53, '203.0.113.3')
const children = [start({}), start({ detached: true })] // one of them as a browser is
for (let look = 0; watch.latest.length < 4 && look < 600; look++) await setTimeout(100)
await setTimeout(1000) // whatever else there may be
const found = watch.latest.map(({ protocol, address, port, pid }) => {
  const who = pid === process.pid ? 'own' : 'child'
  return `${who} ${protocol} ${address} ${String(port)}`
})
for (const child of children) child.kill()
console.log(JSON.stringify({ count: watch.count, found: found.sort() }))
process.exit()
