/** Addresses in settings: one form for all of them, which every program reads alike. */
import { describe, expect, test } from 'vitest'
import { isOnThisMachine, isWebAddress, webUrl } from '#shared/config/addresses.ts'
import { keyUse } from '#shared/config/keyUses.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { judgeDoubts, parseJudge } from '#shared/config/judge.ts'
import { soughtIn } from '#host/code/retrievers.ts'
import { readIndex } from '#host/devices/packageIndex.ts'
import { webAddress } from '#host/outboundRequests.ts'
import { keysOfServers } from '#host/python/mcpServers.ts'

const wrong = [
  'module://head:8265',
  // Letters that are k and s where cases are folded.
  'http://\u212Aey.example/',
  'https://te\u017Ft.example/',
  'ray://head:10001',
  'head:8265',
  'auto',
  'file:///etc/passwd',
  'data:text/plain,hello',
  'javascript:alert(1)',
  'https://me:word@a.example/',
  'https://me@a.example/',
  'https://@a.example/',
  'https://a.example\\@evil.example/v1', // Python's urlparse asks evil.example
  'https:\\\\a.example',
  'https:a.example',
  'https:///a.example',
  'http://[fe80::1%25eth0]:8000',
  'https://аpple.example', // the first letter is Cyrillic
  'https://ａ.example',
  'https://a。example',
  ' https://a.example',
  'https://a.example\n',
  'ht\ntps://a.example',
  'https://a.exa\tmple',
  'https://a.example/\u202ev1',
  'https://a.example:port',
  'https://',
]
const right = [
  'http://127.0.0.1:8000',
  'https://a.example/v1?x=@b',
  'http://[::1]:80',
  'HTTPS://A.example',
  'http://gpu_1',
]

const mcp = (url: string) =>
  keysOfServers({
    code: JSON.stringify({ mcpServers: { a: { url } } }),
    language: 'json',
    file: '/tools.json',
  })
const run = (more: object) =>
  parseRunConfig({
    model: 'm',
    data: { train: 'd', prompt: { column: 'prompt' } },
    rewards: [{ function: 'exact-match' }],
    algorithm: { id: 'grpo' },
    ...more,
  })
const server = (url: unknown) => ({ rollout: { server: { kind: 'vllm', url, adapterFolder: '/a' } } })

const settings: readonly (readonly [string, (address: string) => unknown])[] = [
  ['rollout.server.url', (address) => run(server(address))],
  ['one of several in rollout.server.url', (address) => run(server(['http://a.example', address]))],
  ['engine.address', (address) => run({ engine: { kind: 'trl', launcher: 'ray', address } })],
  ['address of a judge', (address) => parseJudge({ address }, 'rewards.0.settings')],
  ['environment.settings.url', (url) => soughtIn({ url })],
  ['url of an MCP server', mcp],
  ['address of the package index', readIndex],
]

describe('the address of a server', () => {
  test.each(settings)('is refused in a sentence in any other form: %s', (_, give) => {
    for (const address of wrong) expect(() => give(address), address).toThrow(/address|MCP|index/)
    expect(() => give('https://a.example/v1')).not.toThrow()
  })

  test.each(wrong)('is none: %j', (address) => {
    expect(webUrl(address)).toBeNull()
    expect(webAddress(address)).toBeNull()
    expect(keyUse('KEY', address)).toBeNull()
  })

  test.each(right)('is one: %s', (address) => expect(isWebAddress(address)).toBe(true))

  test('is this machine’s by its host alone, and a key to another without encryption is doubted however it is written', () => {
    expect(isOnThisMachine('http://127.0.0.1.evil.example')).toBe(false)
    const doubts = (address: string) => judgeDoubts({ address, keyVariable: 'KEY' }, 'rewards.0.settings')
    expect(doubts('HTTP://a.example')).toHaveLength(1)
    expect(doubts('https://a.example')).toEqual([])
  })
})
