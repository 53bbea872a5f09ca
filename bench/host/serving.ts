/**
 * Tokens per second of clients of OpenAI's API, beside those of the same batch in one process without a server, in turns so
 * that other load hits both. Run with `node bench/host/serving.ts [SHAPE|MODEL FOLDER] [ROWS] [NEW TOKENS] [THREADS]`.
 */
import { existsSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { median, openPolicy, randomRequests, sampling, subjectFolder } from '#host/checks/benchModel.ts'
import { dataFolders, resolveDataDirectory } from '#host/dataDirectory.ts'
import { chooseDevice, noAdapter } from '#host/models/openModel.ts'
import { jobStarter } from '#host/processes/job.ts'
import { ServedModel, servingJob } from '#host/serving/servedProcess.ts'
import { TextProcesses } from '#host/models/textQuestion.ts'
import { startOpenAiServer } from '#host/serving/openaiServer.ts'

const [, , subject = 'smol-30m', rows = '16', newTokens = '32', threads = '2'] = process.argv
const [count, tokens, promptTokens, rounds] = [Number(rows), Number(newTokens), 32, 7]

const device = await chooseDevice({ kind: 'cpu', threads: Number(threads) })
const cacheDirectory = dataFolders(resolveDataDirectory(undefined)).cache
const request = {
  subject: existsSync(subject) ? { model: subject } : { shape: subject },
  cacheDirectory,
  base: 'f32',
  activations: 'recompute',
} as Parameters<typeof subjectFolder>[0]
const say = (text: string) => console.log(text)
const directory = await subjectFolder(request, say)
using policy = await openPolicy({ request, device, say, lora: noAdapter, directory }, 'f32', count)
const setup = {
  directory,
  base: null,
  precision: 'f32',
  device,
  contextLength: null,
  maxRows: count,
} as const
using texts = new TextProcesses()
using model = await ServedModel.open(jobStarter()(servingJob), { ...setup, cacheDirectory }, texts.ask)
const name = { name: 'model', adapter: null, createdAt: 0 }
const names = { list: () => [name], find: () => name }
const key = 'key'
await using server = await startOpenAiServer({ port: 0, key, model, names, onAnswered: () => undefined })

const requests = randomRequests(policy, count, promptTokens)
const agent = new Agent({ keepAlive: true, maxSockets: count })

/** Tokens per second of the policy alone. */
async function alone(): Promise<number> {
  const startedAt = performance.now()
  let generated = 0
  for await (const { ids } of policy.generate(requests, { role: 'base', sampling: sampling(tokens) }))
    generated += ids.length
  return (1000 * generated) / (performance.now() - startedAt)
}

/** Tokens per second of one client for each row. */
async function served(stream: boolean): Promise<number> {
  const startedAt = performance.now()
  const answers = await Promise.all(requests.map(({ promptIds }) => post({ prompt: [...promptIds], stream })))
  const seconds = (performance.now() - startedAt) / 1000
  const usages = answers.map((answer) => Number(/.*"completion_tokens":(\d+)/s.exec(answer)?.[1]))
  return usages.reduce((sum, each) => sum + each, 0) / seconds
}

function post(body: object): Promise<string> {
  const length = { max_tokens: tokens, stream_options: { include_usage: true } }
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const url = `${server.origin}/v1/completions`
    const sent = httpRequest(url, { method: 'POST', headers, agent }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))))
    })
    sent.on('error', reject).end(JSON.stringify({ model: 'model', ...length, ...body }))
  })
}

await alone()
await served(false)
const ratios: Record<'whole' | 'streamed', number[]> = { whole: [], streamed: [] }
for (let round = 0; round < rounds; round++) {
  const [before, whole, streamed, after] = [
    await alone(),
    await served(false),
    await served(true),
    await alone(),
  ]
  const reference = (before + after) / 2
  ratios.whole.push(whole / reference)
  ratios.streamed.push(streamed / reference)
  console.log(
    `alone ${reference.toFixed(0)}, whole ${whole.toFixed(0)}, streamed ${streamed.toFixed(0)} tokens/s`,
  )
}
agent.destroy()
console.log(
  `${count} clients, ${tokens} new tokens each: ${median(ratios.whole).toFixed(2)} of the batch alone, streamed ${median(ratios.streamed).toFixed(2)}`,
)
