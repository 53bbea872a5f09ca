/** What it costs a run to be watched: steps of the demo's run while its page is open, beside those without a page. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Page } from '@playwright/test'
import type { Api } from '#shared/api/api.ts'
import { createClient } from '#shared/api/client.ts'
import type { InputOf } from '#shared/api/contract.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { median } from './report.ts'

const resources = path.join(import.meta.dirname, '../../resources')
const demoFile = (name: string) => path.join(resources, 'demo', name)
const stretchMs = 10_000
const stretches = 5

export interface Watched {
  /** Steps per second, medians of stretches in turn. */
  readonly unwatched: number
  readonly watched: number
  /** Share of the time that the page's main thread is at work, of a stretch; median. */
  readonly pageBusy: number
}

/** The page's host trains the starter model; the page goes to its run and away again. */
export async function measureWatched(url: string, page: Page): Promise<Watched> {
  const { origin, hash } = new URL(url)
  const client = createClient<Api>(await openWebSocketPort({ origin, token: hash.replace('#token=', '') }))
  const { runId } = await client.call('runs.start', { config: longDemo() })
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable')
  const busySeconds = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN
  }
  const stretch = async (route: string) => {
    await page.evaluate(`location.hash = ${JSON.stringify(route)}`)
    await page.waitForTimeout(2000)
    const begun = performance.now()
    const [step, busy] = [(await client.call('runs.get', { runId })).step, await busySeconds()]
    await page.waitForTimeout(stretchMs)
    const seconds = (performance.now() - begun) / 1000
    const steps = (await client.call('runs.get', { runId })).step - step
    return { rate: steps / seconds, busy: ((await busySeconds()) - busy) / seconds }
  }
  const [alone, looked]: [number[], { rate: number; busy: number }[]] = [[], []]
  await page.waitForTimeout(10_000) // the first steps and the first evaluation
  for (let i = 0; i < stretches; i++) {
    alone.push((await stretch('#/nowhere')).rate)
    looked.push(await stretch(`#/runs/${runId}/overview`))
  }
  await client.call('runs.kill', { runId })
  client.close()
  return {
    unwatched: median(alone),
    watched: median(looked.map(({ rate }) => rate)),
    pageBusy: median(looked.map(({ busy }) => busy)),
  }
}

type RunConfigInput = InputOf<Api, 'runs.start'>['config']

/** The demo's run without an end and without evaluations in between. */
function longDemo(): RunConfigInput {
  const config = JSON.parse(readFileSync(demoFile('run.json'), 'utf8')) as RunConfigInput
  const data = { ...config.data, train: demoFile('train.jsonl'), heldOut: null }
  return { ...config, model: path.join(resources, 'starter'), data, steps: 100_000 }
}
