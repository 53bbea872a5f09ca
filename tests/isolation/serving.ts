/**
 * A host and a client that asks it for what needs ONNX Runtime, in child processes and in its own; with a built window
 * also a browser that shows it: node serving.ts DATA_DIRECTORY [WINDOW CHROMIUM]
 */
import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { chromium } from '@playwright/test'
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import type { InputOf } from '#shared/api/contract.ts'
import { connectTo, startHost } from '../e2e/host.ts'

const [dataDirectory = '', window, executablePath = ''] = process.argv.slice(2)
const resources = path.resolve(import.meta.dirname, '../../resources')
const demo = (name: string) => path.join(resources, 'demo', name)

async function checkItself(client: Client<Api>): Promise<void> {
  const { devices } = await client.call('system.info')
  if (!devices.some(({ available }) => available)) throw new Error('No device can be used.')
  for await (const { finding } of client.stream('system.selftest', { full: false }))
    if (!finding.passed) throw new Error(finding.sentence)
}

type Config = InputOf<Api, 'runs.start'>['config']

/** As long as the runtime's own report takes to leave: it looked for its server after ten seconds. */
const reportMs = 11_000

/** Starts a run, lets its process live until a report would have left, and waits for its end. */
async function train(client: Client<Api>): Promise<void> {
  const written = JSON.parse(readFileSync(demo('run.json'), 'utf8')) as Config
  const data = { ...written.data, train: demo('train.jsonl'), heldOut: demo('heldout.jsonl') }
  const config: Config = { ...written, model: path.join(resources, 'starter'), data, steps: 4 }
  const { runId } = await client.call('runs.start', { config })
  let isHeld = false
  for await (const { run } of client.follow('runs.follow', { runId })) {
    if (run.status === 'finished') return
    if (!isHeld && run.step > 0) {
      isHeld = true
      await client.call('runs.pause', { runId })
      await setTimeout(reportMs)
      await client.call('runs.unpause', { runId })
    }
    if (['failed', 'interrupted', 'stopped'].includes(run.status))
      throw new Error(`The run has ${run.status}.`)
  }
}

const places = [
  '/',
  '/runs',
  '/data',
  '/models',
  '/rewards',
  '/new-run',
  '/settings/privacy',
  '/settings/devices',
]

/** Every place of the window for a moment; the browser is kept from asking for things of its own. */
async function look(url: string): Promise<void> {
  process.env['HOME'] = process.env['TMPDIR'] = path.join(dataDirectory, 'browser')
  mkdirSync(process.env['HOME'])
  const ofTheBrowser = ['google.com', 'googleapis.com', 'gstatic.com', 'gvt1.com']
  const rules = ofTheBrowser.map((host) => `MAP *.${host} ~NOTFOUND`).join()
  const args = ['--no-sandbox', '--disable-dev-shm-usage', `--host-resolver-rules=${rules}`]
  const browser = await chromium.launch({ executablePath, args })
  const page = await browser.newPage()
  await page.goto(url)
  await page.getByText('Connected', { exact: true }).waitFor()
  for (const place of places) {
    await page.goto(new URL(`#${place}`, url).href)
    await page.waitForTimeout(700)
  }
  await browser.close()
}

const host = await startHost(dataDirectory, window ?? dataDirectory)
const client = await connectTo(host.url)
try {
  if (window === undefined) await checkItself(client)
  else await look(host.url)
  await train(client)
  const { connections } = await client.call('system.load')
  if (connections.count > 0) throw new Error(JSON.stringify(connections.latest))
} finally {
  client.close()
  await host.stop()
}
