import { EventEmitter } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { openHostChannel } from '#host/processes/hostChannel.ts'

afterEach(() => {
  Reflect.deleteProperty(process, 'parentPort')
})

test('a process that Electron started talks through its port', async () => {
  const said: unknown[] = []
  const port = Object.assign(new EventEmitter(), {
    postMessage: (message: unknown) => void said.push(message),
  })
  Reflect.set(process, 'parentPort', port)
  const heard: unknown[] = []
  const host = openHostChannel<unknown, object>()
  host.listen((message) => heard.push(message))
  host.onLost(() => heard.push('lost'))
  port.emit('message', { data: { type: 'pause' }, ports: [] })
  port.emit('close')
  await host.report({ type: 'alive' })
  expect(heard).toEqual([{ type: 'pause' }, 'lost'])
  expect(said).toEqual([{ type: 'alive' }])
})

test('the last word through that port is said when the host has heard it', async () => {
  const port = Object.assign(new EventEmitter(), { postMessage: () => undefined })
  Reflect.set(process, 'parentPort', port)
  const host = openHostChannel<unknown, object>()
  const heard: unknown[] = []
  host.listen((message) => heard.push(message))
  let isSaid = false
  const said = host.report({ type: 'done' }).then(() => (isSaid = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(isSaid).toBe(false)
  port.emit('message', { data: { type: 'heard' } })
  await said
  expect(heard).toEqual([])
})

test('a host that is gone is not waited for', async () => {
  const port = Object.assign(new EventEmitter(), { postMessage: () => undefined })
  Reflect.set(process, 'parentPort', port)
  const host = openHostChannel<unknown, object>()
  port.emit('close')
  await host.report({
    type: 'failed',
    error: { code: null, message: 'x', hint: undefined, stack: undefined },
  })
})

test('any other through Node’s channel; without one a report is no fault', async () => {
  const host = openHostChannel<unknown, object>()
  const heard: unknown[] = []
  host.listen((message) => heard.push(message))
  const listener = process.listeners('message').at(-1)
  listener?.({ type: 'stop' }, undefined)
  expect(heard).toEqual([{ type: 'stop' }])
  if (listener !== undefined) process.off('message', listener)
})
