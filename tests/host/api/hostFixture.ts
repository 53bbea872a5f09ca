/** A real host on a data directory of its own, and a client that talks to it through a port that checks every answer. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import { api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import { serve } from '#shared/api/serve.ts'
import { createHost, type HostOptions } from '#host/createHost.ts'
import type { Host } from '#host/host.ts'
import { createServices } from '#host/api/services.ts'
import { jobStarter } from '#host/processes/job.ts'
import { memoryPorts } from '../../shared/api/memoryPort.ts'
import { startWarmJob } from '../processes/warmJobs.ts'
import { starterConfig } from '../runs/runFixture.ts'

export type Config = InputOf<Api, 'runs.start'>['config']
export type RunEntry = OutputOf<Api, 'runs.get'>
type Status = RunEntry['status']

export interface HostFixture extends AsyncDisposable {
  readonly host: Host
  readonly client: Client<Api>
  readonly directory: string
  /** Faults of the host and answers that are not as the contract says. */
  readonly faults: unknown[]
  write(name: string, content: string): string
  /** Starts a run of the starter model. */
  start(config?: Partial<Config>): Promise<string>
  /** Resolves when the run has one of the states; its process may be there for a moment after its end. */
  reached(runId: string, ...statuses: Status[]): Promise<RunEntry>
  /** Resolves when no run has a process. */
  left(): Promise<void>
}

export const smallConfig: Config = {
  ...starterConfig,
  steps: 4,
  evaluation: { every: 2, rows: 2 },
  checkpoints: { every: 2 },
} as Config

interface FixtureOptions extends Pick<HostOptions, 'startJob'> {
  /** Script of jobs other than the ordinary one. */
  readonly script?: string
  /** A data directory that is there already, and stays. */
  readonly dataDirectory?: string
}

export function createHostFixture({ script, dataDirectory, ...starters }: FixtureOptions = {}): HostFixture {
  const directory = dataDirectory ?? mkdtempSync(path.join(tmpdir(), 'turnwise-services-'))
  const startJob = script === undefined ? startWarmJob : jobStarter(script)
  const host = createHost({ dataDirectory: directory, servesQueue: true, startJob, ...starters })
  const faults: unknown[] = []
  const [near, far] = memoryPorts()
  const serving = serve(far, api, createServices(host), {
    checkOutputs: true,
    onFault: (name, error) => faults.push([name, error]),
  })
  const client = createClient<Api>(near)
  return {
    host,
    client,
    directory,
    faults,
    write(name, content) {
      writeFileSync(path.join(directory, name), content)
      return path.join(directory, name)
    },
    async start(config) {
      return (await client.call('runs.start', { config: { ...smallConfig, ...config } })).runId
    },
    async reached(runId, ...statuses) {
      for await (const { run } of client.follow('runs.follow', { runId })) {
        if (statuses.includes(run.status)) return client.call('runs.get', { runId })
      }
      throw new Error('The feed ended.')
    },
    async left() {
      for await (const { workers } of client.follow('runs.watch')) if (workers.length === 0) return
    },
    async [Symbol.asyncDispose]() {
      client.close()
      serving[Symbol.dispose]()
      await host[Symbol.asyncDispose]()
      if (dataDirectory === undefined) rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** All items of a stream. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

/** The next item of a feed, which must not have ended. */
export async function nextOf<Item>(items: AsyncIterator<Item, unknown>): Promise<Item> {
  const next = await items.next()
  if (next.done === true) throw new Error('The feed ended.')
  return next.value
}

/** Resolves when the run has done so many steps. */
export async function stepReached(client: Client<Api>, runId: string, step: number): Promise<void> {
  for await (const { run } of client.follow('runs.follow', { runId })) {
    if (run.status === 'failed') throw new Error(run.error?.message)
    if (run.step >= step) return
  }
}
