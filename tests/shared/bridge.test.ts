import { expect, test } from 'vitest'
import { openBridgePort } from '#shared/bridge.ts'

function createBridge() {
  const handlers: ((message: unknown) => void)[] = []
  const posted: string[] = []
  return {
    handlers,
    posted,
    bridge: {
      post: (text: string) => void posted.push(text),
      listen: (handler: (message: unknown) => void) => void handlers.push(handler),
    },
  }
}

test('a port over the bridge carries text both ways until it ends', () => {
  const { bridge, handlers, posted } = createBridge()
  const port = openBridgePort(bridge)
  const heard: unknown[] = []
  port.listen((message) => heard.push(message))
  port.onClose(() => heard.push('closed'))
  port.post('a')
  handlers[0]?.('b')
  handlers[0]?.(null)
  handlers[0]?.('late')
  port.post('late')
  port.onClose(() => heard.push('closed before'))
  expect(heard).toEqual(['b', 'closed', 'closed before'])
  expect(posted).toEqual(['a'])
})

test('closing it is the end too; another one is another connection', () => {
  const { bridge, handlers, posted } = createBridge()
  const [first, second] = [openBridgePort(bridge), openBridgePort(bridge)]
  const heard: unknown[] = []
  first.onClose(() => heard.push('first closed'))
  second.listen((message) => heard.push(message))
  first.close()
  first.post('lost')
  handlers[1]?.('to the second')
  expect(heard).toEqual(['first closed', 'to the second'])
  expect(posted).toEqual([])
})
