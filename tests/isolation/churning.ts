/** Opens and closes connections without a pause, each to a port of its own, and prints what the watch counted of them. */
import { connect } from 'node:net'
import { isMainThread, Worker } from 'node:worker_threads'
import { ConnectionWatch } from '#host/outboundConnections.ts'

let port = 0
function knock(): void {
  const socket = connect(++port, '203.0.113.1').on('error', () => undefined)
  setTimeout(
    () => {
      socket.destroy()
      knock()
    },
    10 * (port % 5),
  )
}

if (!isMainThread) {
  for (let each = 0; each < 20; each++) knock()
} else {
  new Worker(import.meta.filename)
  using watch = new ConnectionWatch()
  const ports = new Set<number>()
  while (watch.count < 300) {
    // It looks by itself meanwhile, and what it sees then is to be in the list that is read.
    await new Promise(setImmediate)
    watch.look()
    for (const latest of watch.latest) ports.add(latest.port)
  }
  console.log(JSON.stringify({ count: watch.count, distinct: ports.size }))
  process.exit()
}
