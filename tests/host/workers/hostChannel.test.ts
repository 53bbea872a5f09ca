import { EventEmitter } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { openHostChannel } from '#host/workers/hostChannel.ts'
import type { ToTrainer } from '#host/workers/messages.ts'

afterEach(() => {
  Reflect.deleteProperty(process, 'parentPort')
})

test('a process that Electron started talks through its port', async () => {
  const said: unknown[] = []
  const port = Object.assign(new EventEmitter(), {
    postMessage: (message: unknown) => void said.push(message),
  })
  Reflect.set(process, 'parentPort', port)
  const heard: (ToTrainer | 'lost')[] = []
  const host = openHostChannel()
  host.listen((message) => heard.push(message))
  host.onLost(() => heard.push('lost'))
  port.emit('message', { data: { type: 'pause' }, ports: [] })
  port.emit('close')
  await host.report({ type: 'alive' })
  expect(heard).toEqual([{ type: 'pause' }, 'lost'])
  expect(said).toEqual([{ type: 'alive' }])
})

test('any other through Node’s channel; without one a report is no fault', async () => {
  const host = openHostChannel()
  const heard: ToTrainer[] = []
  host.listen((message) => heard.push(message))
  const listener = process.listeners('message').at(-1)
  listener?.({ type: 'stop' }, undefined)
  expect(heard).toEqual([{ type: 'stop' }])
  if (listener !== undefined) process.off('message', listener)
})
