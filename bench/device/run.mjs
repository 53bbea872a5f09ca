/**
 * Proves and measures a device on a machine that need not have a network: the self-test, parity with the CPU, prefill, decoding,
 * training and whole GRPO steps, each in a process of its own, and the same in PyTorch where Python has it.
 *
 *   node bench/device/run.mjs [--device webgpu] [--shape smol-30m] [--only PART,…] [--out results.json] …
 *
 * With --stop the first part that fails is the last, and the exit status says so.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { placements } from './placements.mjs'
import { table } from './table.mjs'

const here = import.meta.dirname
const root = join(here, '../..')
const turnwiseParts = ['parity', 'prefill', 'decode', 'train', 'step']
const parts = ['selftest', ...turnwiseParts, 'torch']

const { values: flags } = parseArgs({
  options: {
    device: { type: 'string', default: 'webgpu' },
    shape: { type: 'string', default: 'smol-30m' },
    base: { type: 'string', default: 'f32' },
    only: { type: 'string', default: parts.join(',') },
    batch: { type: 'string', default: '1,8,16' },
    lengths: { type: 'string', default: '8x256' },
    steps: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '540' },
    stop: { type: 'boolean', default: false },
    torch: { type: 'string', default: '' },
    python: { type: 'string', default: 'python3' },
    out: { type: 'string', default: join(here, 'results', 'device.json') },
    data: { type: 'string', default: join(here, '.data') },
  },
})
const wanted = flags.only.split(',')
const unknown = wanted.filter((part) => !parts.includes(part))
if (unknown.length > 0)
  throw new Error(`There is no part ${unknown.join(', ')}; there are ${parts.join(', ')}.`)
const endsAt = Date.now() + Number(flags.seconds) * 1000

/** What a process said, in at most `seconds`. */
function ended(command, args, { env = {}, seconds = (endsAt - Date.now()) / 1000 } = {}) {
  return new Promise((settle) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
    const [out, err] = [[], []]
    child.stdout.on('data', (bytes) => out.push(bytes))
    child.stderr.on('data', (bytes) => err.push(bytes))
    const left = setTimeout(() => child.kill('SIGKILL'), Math.max(1, seconds * 1000))
    child.on('error', (error) => settle({ stdout: '', stderr: error.message, status: null, signal: null }))
    child.on('close', (status, signal) => {
      clearTimeout(left)
      settle({ stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString(), status, signal })
    })
  })
}

/** What a process prints last, as JSON; or why it printed none. A part that fails or hangs does not end the others. */
async function lastLine(command, args) {
  const { stdout, stderr, status, signal } = await ended(command, args)
  const line = stdout
    .trim()
    .split('\n')
    .findLast((text) => text.startsWith('{'))
  const why = stderr.trim().split('\n').slice(-3).join(' ') || `it ended with ${status ?? signal}`
  const failed = status === 0 ? {} : { failed: signal === 'SIGKILL' ? 'out of time' : why }
  return line === undefined ? { failed: 'it printed nothing', ...failed } : { ...JSON.parse(line), ...failed }
}

const command = (args) => [join(root, 'bin/turnwise.mjs'), ...args, '--json', '--data-dir', flags.data]
const turnwise = (...args) => lastLine(process.execPath, command(args))
const benchOf = (device, part) => [
  ...['bench', '--device', device, '--shape', flags.shape, '--base', flags.base, '--only', part],
  ...['--steps', flags.steps, '--batch', flags.batch, '--lengths', flags.lengths, '--precision', 'f32'],
]
const commandOf = (part) =>
  part === 'selftest' ? ['selftest', '--device', flags.device] : benchOf(flags.device, part)

/**
 * What mending a failure needs without the card: the part once more, with the runtime telling all that it does. Its log goes
 * beside the results, where it placed the nodes into them.
 */
async function evidence(part) {
  if (part === 'torch') return {}
  const left = (endsAt - Date.now()) / 1000
  const { stderr } = await ended(process.execPath, command(commandOf(part)), {
    env: { TURNWISE_RUNTIME_LOG: '0' },
    seconds: Math.min(60, Math.max(10, left)),
  })
  const file = flags.out.replace(/(\.json)?$/, `-${part}.log.gz`)
  writeFileSync(file, gzipSync(stderr.slice(-100_000_000)))
  return { runtimeLog: file, placements: placements(stderr) }
}

/** Each type of the peer, on the weights that the bench wrote, and how far its log-probabilities are from ours. */
async function torchParts() {
  const model = join(flags.data, 'cache/bench', flags.shape)
  const [rows, length] = flags.lengths.split(/[x-]/)
  const of = flags.torch ? flags.torch.split(',') : wanted
  const only = [
    'peak',
    'logprobs',
    ...of.filter((part) => turnwiseParts.includes(part) && part !== 'parity'),
  ].join(',')
  const ids = Array.from({ length: 33 }, (_, i) => (7 * i * i + 3 * i) % 256)
  const [input, output] = [join(flags.data, 'ids.json'), join(flags.data, 'scores.json')]
  writeFileSync(input, JSON.stringify({ sequences: [ids], temperature: 1 }))
  // Whatever the bench does with a shape, it writes its weights first.
  if (!existsSync(join(model, 'config.json'))) await turnwise(...benchOf('cpu', 'prefill'), '--steps', '1')
  await turnwise('score', '--model', model, '--input', input, '--output', output)
  const ours = JSON.parse(readFileSync(output, 'utf8')).logprobs[0]
  const answers = {}
  for (const dtype of ['f32', 'tf32', 'bf16']) {
    const given = ['--model', model, '--dtype', dtype, '--only', only, '--batch', flags.batch, '--rows', rows]
    const answer = await lastLine(flags.python, [
      join(here, 'peer.py'),
      ...given,
      ...['--length', length, '--steps', flags.steps],
    ])
    const { logprobs, ...figures } = answer
    const apart = logprobs && Math.max(...logprobs.map((value, at) => Math.abs(value - ours[at])))
    answers[dtype] = { ...figures, ...(logprobs && { logprobsApart: apart }) }
  }
  return answers
}

async function answerOf(part) {
  if (part === 'torch') return torchParts()
  const answer = await turnwise(...commandOf(part))
  if (part !== 'selftest') return answer
  const { findings = [], ...rest } = answer
  return { ...rest, checks: findings.length, failures: findings.filter(({ passed }) => !passed) }
}

const failedIn = (answer) => answer.failed !== undefined || Object.values(answer).some((each) => each?.failed)

mkdirSync(flags.data, { recursive: true })
mkdirSync(dirname(flags.out), { recursive: true })
const { device, shape, base, lengths } = flags
const results = { device, shape, base, lengths, parts: {} }
const write = () => writeFileSync(flags.out, `${JSON.stringify(results, null, 2)}\n`)
// The shape's weights are written before PyTorch is asked for them.
for (const part of parts.filter((name) => wanted.includes(name))) {
  const began = Date.now()
  console.error(part)
  const answer = await answerOf(part).catch((error) => ({ failed: String(error) }))
  results.parts[part] = { ...answer, wallSeconds: (Date.now() - began) / 1000 }
  write() // so far: the next part may be the last
  if (!failedIn(answer)) continue
  process.exitCode = 1
  Object.assign(results.parts[part], await evidence(part))
  write()
  if (flags.stop) break
}
console.log(table(results))
console.log(`\n${flags.out}`)
