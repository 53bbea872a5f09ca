/** The contract as a whole, and that a window can use it without loading its schemas. */
import { build } from 'vite'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { api, type Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import type { FeedContext, Handlers } from '#shared/api/contract.ts'
import type { RunEntry, RunRecord } from '#shared/runs.ts'

const procedures = Object.entries(api).flatMap(([areaName, area]) =>
  Object.entries(area).map(([name, procedure]) => [`${areaName}.${name}`, procedure] as const),
)

const runId = 'run_01890a5d-ac96-774b-bcce-b302099a8057'

describe('the contract', () => {
  test.each(procedures)('%s is of a known kind and can be published', (_name, { kind, input, output }) => {
    expect(['query', 'command', 'stream', 'feed']).toContain(kind)
    for (const schema of [input, output]) {
      expect(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })).toBeTypeOf('object')
    }
  })

  test('every feed has a cursor to come back with', () => {
    const feeds = procedures.filter(([, { kind }]) => kind === 'feed')
    expect(feeds.length).toBeGreaterThan(5)
    for (const [name, { output }] of feeds) {
      const { properties } = z.toJSONSchema(output, { unrepresentable: 'any' })
      expect([name, properties?.['cursor']]).toEqual([name, { type: 'string' }])
    }
  })

  test.each([
    '..',
    'run_',
    `${runId}/..`,
    `../${runId}`,
    'run_/../../../../../../etc/passwd/../../../x',
    `${runId}\n`,
    '',
  ])('an id that could be a path is none: %j', (id) => {
    expect(api.runs.get.input.safeParse({ runId: id }).success).toBe(false)
    expect(api.runs.get.input.safeParse({ runId }).success).toBe(true)
  })

  test('types go through: `tsc` fails where they do not', () => {
    expect(usage).toBeTypeOf('function')
    expect(services.get()).toEqual({ runs: [], halted: null })
  })
})

/** Compiled, not run. */
async function usage(client: Client<Api>): Promise<unknown> {
  const entries: readonly RunEntry[] = await client.call('runs.list', { status: 'running' })
  const record: RunRecord = await client.call('runs.get', { runId })
  const queue: { readonly runs: readonly unknown[] } = await client.call('queue.get')
  for await (const { cursor, runs } of client.follow('runs.watch', undefined, { from: '1' }))
    return [entries, record, queue, cursor, runs satisfies readonly RunEntry[]]
  for await (const item of client.stream('datasets.import', { source: { path: 'rows.csv' } }))
    if ('result' in item) return item.result.version.rows satisfies number
  // @ts-expect-error A stream is not called.
  await client.call('datasets.import', { source: { path: 'rows.csv' } })
  // @ts-expect-error An input that is missing.
  await client.call('runs.get')
  // @ts-expect-error A feed is followed.
  client.stream('runs.watch')
  // @ts-expect-error No such procedure.
  return client.call('runs.dance')
}

const services = {
  get: (): {
    readonly runs: readonly { runId: string; continueOnError: boolean }[]
    readonly halted: null
  } => ({
    runs: [],
    halted: null,
  }),
  push: () => undefined,
  move: ({ runId: moved, to }: { runId: string; to: number }) =>
    [moved, to].slice(0, 0) as unknown as undefined,
  remove: () => Promise.resolve(),
  setContinueOnError: () => undefined,
  proceed: () => undefined,
  async *watch(_input: unknown, { from }: FeedContext) {
    yield { cursor: from ?? '0', runs: [], halted: null }
  },
} satisfies Handlers<Api['queue']>

test('a window bundles the client without the schemas', async () => {
  const entry = '\0window'
  const source = `
    import { reconnecting } from '#shared/api/reconnecting.ts'
    import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
    globalThis.host = reconnecting(() => openWebSocketPort({ origin: location.origin, token: '' }))`
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, rolldownOptions: { input: entry } },
    plugins: [
      {
        name: 'window',
        enforce: 'pre',
        resolveId: (id) => {
          if (id === entry) return entry
          return id.startsWith('#shared/')
            ? new URL(`../../../src/shared/${id.slice(8)}`, import.meta.url).pathname
            : null
        },
        load: (id) => (id === entry ? source : null),
      },
    ],
  })
  if (Array.isArray(built)) throw new Error('Expected one bundle.')
  const chunks = 'output' in built ? built.output : []
  const code = chunks.map((chunk) => (chunk.type === 'chunk' ? chunk.code : '')).join('')
  expect(code).toContain('turnwise.token.')
  expect(code).not.toMatch(/zod|safeParse|node:/i)
  expect(code.length).toBeLessThan(12_000)
})
