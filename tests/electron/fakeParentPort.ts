/** `process.parentPort` as a utility process has it, over the channel of a child process of Node. */
import { EventEmitter } from 'node:events'

const send = process.send?.bind(process)
const port = Object.assign(new EventEmitter(), {
  // Electron does not say when a message has left.
  postMessage: (message: unknown) => void send?.(message),
})
process.on('message', (data) => port.emit('message', { data, ports: [] }))
process.on('disconnect', () => port.emit('close'))
// Nothing of Node's own way back is left.
Object.assign(process, { parentPort: port, send: undefined })
