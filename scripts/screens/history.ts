/**
 * Fills a data directory with a small real history to look at: runs of several algorithms and seeds on the starter
 * model, one of them forked, one stopped half-way, one that failed; a population, a sweep and runs over seeds.
 *   node scripts/screens/history.ts DIR [MODEL]
 * MODEL, a folder or GGUF file of SmolLM2-135M-Instruct, is trained on examples/additions too.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { readRunConfig } from '#host/runs/runConfigFile.ts'
import { serveHost } from '#host/serveHost.ts'

type Config = Readonly<Record<string, unknown>>
type Changes = Config & { readonly tags?: readonly string[] }

const demo = path.join(resourcesDirectory, 'demo')

function demoConfig(changes: Config): Config {
  const config = JSON.parse(readFileSync(path.join(demo, 'run.json'), 'utf8')) as { data: Config }
  const data = {
    ...config.data,
    train: path.join(demo, 'train.jsonl'),
    heldOut: path.join(demo, 'heldout.jsonl'),
  }
  return {
    ...config,
    model: path.join(resourcesDirectory, 'starter'),
    data,
    ...changes,
  }
}

const grpo = (settings: Config) => ({ id: 'grpo', settings: { klCoefficient: 0, ...settings } })

/** Runs one after the other, each with its tags. */
const runs: readonly Changes[] = [
  { name: 'arith-grpo-1', seed: 1, tags: ['baseline', 'grpo'] },
  { name: 'arith-grpo-2', seed: 2, tags: ['baseline', 'grpo'] },
  { name: 'arith-grpo-3', seed: 3, tags: ['baseline', 'grpo'] },
  { name: 'arith-kl', seed: 1, algorithm: grpo({ klCoefficient: 0.04 }), tags: ['kl'] },
  {
    name: 'arith-slow',
    seed: 1,
    optimization: { learningRate: 0.0003, weightDecay: 0, tokenBudget: 4096 },
    tags: ['sweep'],
  },
  { name: 'arith-reinforce', seed: 1, algorithm: { id: 'reinforce' }, tags: ['family'] },
  { name: 'arith-cispo', seed: 1, algorithm: { id: 'cispo' }, tags: ['family'] },
  { name: 'arith-ppo', seed: 1, algorithm: { id: 'ppo' }, tags: ['family'] },
]

async function untilEnded(client: Client<Api>, runId: string): Promise<void> {
  for await (const { run } of client.follow('runs.follow', { runId })) {
    if (['finished', 'stopped', 'failed', 'interrupted'].includes(run.status)) return
  }
}

async function train(client: Client<Api>, { tags = [], ...changes }: Changes): Promise<string> {
  const config = demoConfig(changes) as never
  const { runId } = await client.call('runs.start', { config })
  await client.call('runs.setTags', { runId, tags: [...tags] })
  await untilEnded(client, runId)
  console.log(`${String(changes['name'])} ${runId}`)
  return runId
}

/** Every kind of end that a run can have, and a fork. */
async function fill(client: Client<Api>): Promise<void> {
  const [first] = await Promise.all([train(client, runs[0] ?? {})])
  for (const changes of runs.slice(1)) await train(client, changes)
  const { runId } = await client.call('runs.fork', {
    runId: first,
    step: 20,
    changes: { name: 'arith-grpo-1-gentle', 'optimization.learningRate': 0.0005, steps: 50 },
  })
  await untilEnded(client, runId)
  const stopped = await client.call('runs.start', {
    config: demoConfig({ name: 'arith-long', steps: 400 }) as never,
  })
  for await (const { run } of client.follow('runs.follow', { runId: stopped.runId })) {
    if (run.step >= 12) break
  }
  await client.call('runs.stop', { runId: stopped.runId })
  await untilEnded(client, stopped.runId)
  await client.call('runs.setNotes', {
    runId: first,
    notes: 'Reaches 0.88 held-out; the letter-counting rows stay weak.',
  })
}

/** A study of each kind, small enough to be trained in a minute or two. */
const studies: readonly Config[] = [
  {
    name: 'arith-population',
    steps: 40,
    population: {
      size: 6,
      every: 8,
      tournament: 2,
      mutation: {
        parameters: {
          'optimization.learningRate': { min: 0.0002, max: 0.02 },
          'algorithm.settings.klCoefficient': { min: 0.001, max: 0.1 },
        },
      },
    },
  },
  {
    name: 'arith-sweep',
    steps: 27,
    sweep: {
      method: 'random',
      trials: 12,
      parameters: {
        'optimization.learningRate': { min: 0.0001, max: 0.03 },
        'rollout.temperature': { min: 0.6, max: 1.4 },
        'algorithm.settings.klCoefficient': { values: [0, 0.01, 0.05] },
      },
      early: { method: 'halving', from: 3 },
    },
  },
  { name: 'arith-seeds', steps: 20, seeds: { values: 4 } },
]

async function study(client: Client<Api>, file: Config): Promise<void> {
  const { id } = await client.call('studies.start', { file: demoConfig(file) })
  for await (const _ of client.follow('studies.watch')) {
    const { status } = await client.call('studies.get', { id })
    if (status !== 'running' && status !== 'waiting') break
  }
  console.log(`${String(file['name'])} ${id}`)
}

/** The first run's checkpoints and its base model on its validation rows, the last one with samples too. */
async function evaluate(client: Client<Api>): Promise<void> {
  const runId = (await client.call('runs.list', {})).find(({ name }) => name === 'arith-grpo-1')?.id ?? ''
  for (const step of [null, 20, 30]) await client.call('evaluations.start', { subject: { runId, step } })
  await client.call('evaluations.start', { subject: { runId, step: 30 }, samples: 8 })
  for await (const _ of client.follow('evaluations.watch')) {
    const all = await client.call('evaluations.list', {})
    if (all.every(({ status }) => status === 'finished')) return
  }
}

async function importData(client: Client<Api>, source: { path: string }, name: string): Promise<void> {
  for await (const item of client.stream('datasets.import', { source, name })) {
    if ('result' in item) console.log(`${name} ${item.result.version.id}`)
  }
}

/** How often the starter model solves the first tasks already. */
async function measureDifficulty(client: Client<Api>): Promise<void> {
  const dataSets = await client.call('datasets.list')
  const versionId = dataSets.find(({ name }) => name === 'demo-tasks')?.versions[0]?.id ?? ''
  const prompt = { messages: [{ role: 'user', content: '{prompt}' }] }
  const rewards = [{ function: 'starter-correct' }]
  const asked = {
    versionId,
    prompt,
    model: 'starter',
    rewards,
    rows: 200,
    samplesPerRow: 8,
    sampling: { maxNewTokens: 16 },
  }
  for await (const item of client.stream('datasets.difficulty', asked)) {
    if ('result' in item) console.log('difficulty of 200 rows measured')
  }
}

async function library(client: Client<Api>): Promise<void> {
  await importData(client, { path: path.join(demo, 'train.jsonl') }, 'demo-tasks')
  await importData(client, { path: path.join(demo, 'heldout.jsonl') }, 'demo-held-out')
  await measureDifficulty(client)
  for (const entry of await client.call('rewards.gallery')) {
    if (entry.code === null || entry.language === null) continue
    const { id: rewardId } = await client.call('rewards.create', { kind: entry.kind, name: entry.title })
    await client.call('rewards.save', { rewardId, language: entry.language, code: entry.code })
    await client.call('rewards.setTests', { rewardId, tests: [...entry.examples] as never })
  }
}

/** Trains a model with the settings of examples/additions, as the guide does. */
async function trainAdditions(client: Client<Api>, model: string, dataDirectory: string): Promise<void> {
  for await (const _ of client.stream('models.import', { path: path.resolve(model), name: 'smollm2' }));
  const config = readRunConfig(
    path.resolve(resourcesDirectory, '../examples/additions/run.json'),
    dataDirectory,
  )
  const { runId } = await client.call('runs.start', { config })
  await untilEnded(client, runId)
  console.log(`${config.name ?? ''} ${runId}`)
}

const [given, realModel] = process.argv.slice(2)
if (given === undefined) throw new Error('Say which directory to fill.')
const dataDirectory = path.resolve(given)
await using host = await serveHost({ dataDirectory, port: 0 })
const { origin, hash } = new URL(host.url)
const client = createClient<Api>(await openWebSocketPort({ origin, token: hash.replace('#token=', '') }))
await library(client)
await fill(client)
await evaluate(client)
for (const file of studies) await study(client, file)
if (realModel !== undefined) await trainAdditions(client, realModel, dataDirectory)
client.close()
