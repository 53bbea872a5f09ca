/**
 * Proves and measures a device on a machine that need not have a network: the self-test, parity with the CPU, prefill, decoding,
 * training and whole GRPO steps, each in a process of its own, and the same in PyTorch where Python has it.
 *
 *   node bench/device/run.mjs [--device webgpu] [--shape smol-30m] [--only PART,…] [--out results.json] …
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { table } from './table.mjs'

const here = import.meta.dirname
const root = join(here, '../..')
const turnwiseParts = ['parity', 'prefill', 'decode', 'train', 'step']
const parts = ['selftest', ...turnwiseParts, 'torch']

const { values: flags } = parseArgs({
  options: {
    device: { type: 'string', default: 'webgpu' },
    shape: { type: 'string', default: 'smol-30m' },
    only: { type: 'string', default: parts.join(',') },
    batch: { type: 'string', default: '1,8,16' },
    lengths: { type: 'string', default: '8x256' },
    steps: { type: 'string', default: '3' },
    minutes: { type: 'string', default: '9' },
    python: { type: 'string', default: 'python3' },
    out: { type: 'string', default: join(here, 'results', 'device.json') },
    data: { type: 'string', default: join(here, '.data') },
  },
})
const wanted = flags.only.split(',')
const unknown = wanted.filter((part) => !parts.includes(part))
if (unknown.length > 0)
  throw new Error(`There is no part ${unknown.join(', ')}; there are ${parts.join(', ')}.`)
const endsAt = Date.now() + Number(flags.minutes) * 60_000

/** What a process prints last, as JSON; or why it printed none. A part that fails or hangs does not end the others. */
function lastLine(command, args) {
  return new Promise((settle) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const [out, err] = [[], []]
    child.stdout.on('data', (bytes) => out.push(bytes))
    child.stderr.on('data', (bytes) => err.push(bytes))
    const left = setTimeout(() => child.kill('SIGKILL'), Math.max(1, endsAt - Date.now()))
    child.on('error', (error) => settle({ failed: error.message }))
    child.on('close', (status, signal) => {
      clearTimeout(left)
      const line = Buffer.concat(out)
        .toString()
        .trim()
        .split('\n')
        .findLast((text) => text.startsWith('{'))
      const stderrTail = Buffer.concat(err).toString().trim().split('\n').slice(-3).join(' ')
      const failed = status === 0 ? {} : { failed: signal === 'SIGKILL' ? 'out of time' : stderrTail }
      if (line === undefined) settle({ failed: 'it printed nothing', ...failed })
      else settle({ ...JSON.parse(line), ...failed })
    })
  })
}

const turnwise = (...args) =>
  lastLine(process.execPath, [join(root, 'bin/turnwise.mjs'), ...args, '--json', '--data-dir', flags.data])
const measured = (part) =>
  turnwise(
    ...['bench', '--device', flags.device, '--shape', flags.shape, '--only', part],
    ...['--steps', flags.steps, '--batch', flags.batch, '--lengths', flags.lengths, '--precision', 'f32'],
  )

/** Both dtypes of the peer, on the weights that the bench wrote, and how far its log-probabilities are from ours. */
async function torchParts() {
  const model = join(flags.data, 'cache/bench', flags.shape)
  const [rows, length] = flags.lengths.split(/[x-]/)
  const of = wanted.filter((part) => ['prefill', 'decode', 'train', 'step'].includes(part))
  const only = ['peak', 'logprobs', ...of].join(',')
  const ids = Array.from({ length: 33 }, (_, i) => (7 * i * i + 3 * i) % 256)
  const [input, output] = [join(flags.data, 'ids.json'), join(flags.data, 'scores.json')]
  writeFileSync(input, JSON.stringify({ sequences: [ids], temperature: 1 }))
  await turnwise('score', '--model', model, '--input', input, '--output', output)
  const ours = JSON.parse(readFileSync(output, 'utf8')).logprobs[0]
  const answers = {}
  for (const dtype of ['f32', 'bf16']) {
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
  if (part !== 'selftest') return measured(part)
  const { findings = [], ...answer } = await turnwise('selftest', '--device', flags.device)
  return { ...answer, checks: findings.length, failures: findings.filter(({ passed }) => !passed) }
}

mkdirSync(flags.data, { recursive: true })
mkdirSync(dirname(flags.out), { recursive: true })
const results = { device: flags.device, shape: flags.shape, lengths: flags.lengths, parts: {} }
// The shape's weights are written before PyTorch is asked for them.
for (const part of parts.filter((name) => wanted.includes(name))) {
  const began = Date.now()
  console.error(part)
  const answer = await answerOf(part).catch((error) => ({ failed: String(error) }))
  results.parts[part] = { ...answer, wallSeconds: (Date.now() - began) / 1000 }
  writeFileSync(flags.out, `${JSON.stringify(results, null, 2)}\n`) // so far: the next part may be the last
}
console.log(table(results))
console.log(`\n${flags.out}`)
