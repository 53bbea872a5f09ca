/**
 * Adds a run that TRL trains in two processes to a data directory that is shown:
 *   node scripts/screens/engineHistory.ts DIR
 * DIR/.venv is an environment as scripts/python/setup makes it, or a link to one.
 */
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import { createClient } from '#shared/api/client.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { readDemoConfig } from '#host/runs/demoConfig.ts'
import { serveHost } from '#host/serveHost.ts'

const [given] = process.argv.slice(2)
if (given === undefined) throw new Error('Say which directory to fill.')
const dataDirectory = path.resolve(given)
await using host = await serveHost({ dataDirectory, port: 0 })
const { origin, hash } = new URL(host.url)
const client = createClient<Api>(await openWebSocketPort({ origin, token: hash.replace('#token=', '') }))
const python = path.join(dataDirectory, '.venv', 'bin', 'python')
const config = {
  ...readDemoConfig(dataDirectory),
  ...{ name: 'arith-trl', seed: 1 },
  engine: { kind: 'trl', python, processes: 2 } as const,
}
const asked = { engine: config.engine, interpreter: null } as never
await client.call('python.allow', { asked, reviewed: await client.call('python.review', asked) })
const { runId } = await client.call('runs.start', { config })
for await (const { run } of client.follow('runs.follow', { runId })) {
  if (['finished', 'stopped', 'failed', 'interrupted'].includes(run.status)) break
}
console.log(`${config.name} ${runId}`)
client.close()
