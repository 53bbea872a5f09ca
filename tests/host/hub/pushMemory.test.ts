import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { outgoing, sending } from '#host/export/outgoing.ts'
import { pushFiles } from '#host/hub/push.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { startPushHub } from './pushHub.ts'

const size = 512 * 2 ** 20

test('a large file is not kept in memory while it is sent', async () => {
  await using hub = await startPushHub()
  hub.faults.set('store', 'discarded')
  const folder = path.join(temporaryFolder(), 'large')
  mkdirSync(folder)
  writeFileSync(path.join(folder, 'README.md'), '---\nlibrary_name: transformers\n---\n')
  writeFileSync(path.join(folder, 'model.safetensors'), '')
  truncateSync(path.join(folder, 'model.safetensors'), size)
  const names = ['README.md', 'model.safetensors', 'parity.json']
  writeFileSync(path.join(folder, 'parity.json'), JSON.stringify({ passed: true, files: names }))
  const { endpoint } = hub
  const access = { endpoint, token: 'hf_x', onRequest: () => undefined, signal: new AbortController().signal }
  const push = { ...sending(outgoing(folder)), repo: 'me/large', isPublic: false }
  const held: number[] = []
  hub.hold = (step) => {
    // The file is on the hub, and the library has not let go of anything yet.
    if (step === 'commit') held.push(process.memoryUsage().arrayBuffers)
  }
  for await (const _ of pushFiles(push, access)) held.push(process.memoryUsage().arrayBuffers)
  expect(Math.max(...held)).toBeLessThan(size / 2)
  expect(hub.asked.map(({ step }) => step)).toContain('store')
})
