import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ownScript } from '#host/processes/childProcess.ts'
import type { Api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import { reconnecting } from '#shared/api/reconnecting.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { workHolder } from '#host/workFolder/workFolder.ts'
import { until } from '../runs/runFixture.ts'
import { smallConfig, stepReached, type Config } from './hostFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-served-'))
const started: ChildProcess[] = []

afterAll(() => {
  for (const child of started) child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

interface Served {
  readonly child: ChildProcess
  readonly address: { readonly origin: string; readonly token: string }
}

async function startServing(): Promise<Served> {
  const script = ownScript(path.join(import.meta.dirname, 'servingProcess.ts'))
  const child = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const [origin = '', token = ''] = line.toString('utf8').trim().split('/#token=')
  return { child, address: { origin, token } }
}

const connect = async ({ address }: Served): Promise<Client<Api>> =>
  createClient<Api>(await openWebSocketPort(address))

const config = { ...smallConfig, steps: 14, checkpoints: { every: 5 } } as Config

/** Every step once. */
async function expectWhole(client: Client<Api>, runId: string): Promise<number> {
  const { step } = await client.call('runs.get', { runId })
  const { points } =
    (await client.call('metrics.series', { runIds: [runId], metric: 'reward' })).runs[0] ?? {}
  expect(points?.map((point) => point.step)).toEqual(Array.from({ length: step }, (_, at) => at + 1))
  return step
}

test('a run outlives its readers, and what it had done outlives the host', async () => {
  const first = await startServing()
  const client = await connect(first)
  const { runId } = await client.call('runs.start', { config })
  await stepReached(client, runId, 1)
  client.close()

  const second = await connect(first)
  expect(await second.call('runs.get', { runId })).toMatchObject({ status: 'running' })
  expect(await second.call('runs.workers')).toMatchObject([{ runId, activity: 'running' }])

  // A reader whose connection is cut goes on behind the last value it had.
  let port = await openWebSocketPort(first.address)
  const lasting = reconnecting<Api>(async () => (port = await openWebSocketPort(first.address)))
  const steps: number[] = []
  for await (const { columns } of lasting.follow('metrics.follow', {
    runIds: [runId],
    metrics: ['reward'],
  })) {
    steps.push(...columns.flatMap((column) => column.steps))
    if (steps.length === 2) port.close()
    if (steps.length >= 4) break
  }
  lasting.close()
  expect(steps).toEqual(steps.map((_, at) => at + 1))

  const { directory: runDirectory } = await second.call('runs.get', { runId })
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  await until(() => workHolder(runDirectory) === null)

  const again = await connect(await startServing())
  const left = await again.call('runs.get', { runId })
  expect(left.status).toBe('stopped')
  expect(left.step).toBeGreaterThanOrEqual(4)
  expect(left.step).toBeLessThan(14)
  expect(await expectWhole(again, runId)).toBe(left.step)
  expect(await again.call('runs.resume', { runId })).toEqual({ step: left.step, fallBack: null })
  for await (const { run } of again.follow('runs.follow', { runId })) {
    if (run.status === 'finished') break
    expect(run.status).not.toBe('failed')
  }
  expect(await expectWhole(again, runId)).toBe(14)
  again.close()
})

const byItself = 'with the setting, the next host goes on by itself with what the dead one trained'
test.runIf(isWhole)(wholeTitle(byItself), async () => {
  const first = await startServing()
  const client = await connect(first)
  await client.call('settings.set', { key: 'runs.resumeLeft', value: true })
  const { runId } = await client.call('runs.start', { config: { ...config, steps: 10 } })
  await stepReached(client, runId, 1)
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')

  const again = await connect(await startServing())
  for await (const { run } of again.follow('runs.follow', { runId })) {
    if (run.status === 'finished') break
    expect(run.status).not.toBe('failed')
  }
  expect(await expectWhole(again, runId)).toBe(10)
  await again.call('settings.set', { key: 'runs.resumeLeft', value: null })
  again.close()
})
