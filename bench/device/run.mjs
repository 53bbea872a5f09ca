/**
 * Proves and measures a device on a machine that need not have a network: the self-test, parity with the CPU, prefill, decoding,
 * training and whole GRPO steps, each in a process of its own, and the same in PyTorch where Python has it.
 *
 *   node bench/device/run.mjs --device webgpu [--shape smol-30m] [--only PART,…] [--out results.json] …
 *
 * With --stop the first part that fails is the last, and the exit status says so. A signal ends the part that runs, with all that it
 * started, and the results tell how far it came. --tables appends the table to a file, under the name that --row gives.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { givenOptions } from './options.mjs'
import { placements } from './placements.mjs'
import { endAll, ended, lastLine, lastWords } from './processes.mjs'
import { resultsFile } from './resultsFile.mjs'
import { table } from './table.mjs'

const here = import.meta.dirname
const root = join(here, '../..')
const turnwiseParts = ['parity', 'prefill', 'decode', 'train', 'step']
const parts = ['selftest', ...turnwiseParts, 'torch']

const flags = givenOptions({ here, parts, turnwiseParts })
const wanted = flags.only.split(',')
const endsAt = Date.now() + Number(flags.seconds) * 1000

const secondsLeft = () => (endsAt - Date.now()) / 1000

const command = (args) => [join(root, 'bin/turnwise.mjs'), ...args, '--json', '--data-dir', flags.data]
const turnwise = (...args) => lastLine(process.execPath, command(args), { seconds: secondsLeft() })
const benchOf = (device, part) => [
  ...['bench', '--device', device, '--shape', flags.shape, '--base', flags.base, '--only', part],
  ...['--steps', flags.steps, '--batch', flags.batch, '--lengths', flags.lengths, '--precision', 'f32'],
]
const commandOf = (part) =>
  part === 'selftest' ? ['selftest', '--device', flags.device] : benchOf(flags.device, part)

/**
 * Gathers what mending a failure needs without the card: runs the part once more, with the runtime telling all that it does. Its log goes
 * beside the results, where it placed the nodes into them.
 */
async function evidence(part) {
  if (part === 'torch') return {}
  const { stderr } = await ended(process.execPath, command(commandOf(part)), {
    env: { ...process.env, TURNWISE_RUNTIME_LOG: '0' },
    seconds: Math.min(60, Math.max(10, secondsLeft())),
  })
  const file = flags.out.replace(/(\.json)?$/, `-${part}.log.gz`)
  const placed = placements(stderr)
  try {
    writeFileSync(file, gzipSync(stderr.slice(-100_000_000)))
  } catch (error) {
    rmSync(file, { force: true })
    console.error(`run.mjs: The runtime's log could not be written: ${error.message}.`)
    return { placements: placed }
  }
  return { runtimeLog: file, placements: placed }
}

/** Makes the weights of the shape where no earlier part did; returns the model's folder. */
async function weights() {
  const model = join(flags.data, 'cache/bench', flags.shape)
  if (existsSync(join(model, 'config.json'))) return model
  const given = [join(here, 'weights.mjs'), flags.shape, flags.data]
  const { stderr, status, signal } = await ended(process.execPath, given, { seconds: secondsLeft() })
  if (status === 0) return model
  throw new Error(`The weights of ${flags.shape} could not be made: ${lastWords(stderr, status ?? signal)}`)
}

/** Our own log-probabilities of the sequence that peer.py scores; a sentence where there are none. */
async function ownLogprobs(model) {
  const ids = Array.from({ length: 33 }, (_, i) => (7 * i * i + 3 * i) % 256)
  const [input, output] = [join(flags.data, 'ids.json'), join(flags.data, 'scores.json')]
  rmSync(output, { force: true })
  writeFileSync(input, JSON.stringify({ sequences: [ids], temperature: 1 }))
  const given = command(['score', '--model', model, '--input', input, '--output', output])
  const { stderr, status, signal } = await ended(process.execPath, given, { seconds: secondsLeft() })
  if (status === 0) return { ours: JSON.parse(readFileSync(output, 'utf8')).logprobs[0] }
  return { failed: `Our own log-probabilities could not be computed: ${lastWords(stderr, status ?? signal)}` }
}

/** Leaves out what would make PyTorch compute f32 or TF32 as the other: peer.py sets what it computes in itself. */
function peerEnvironment() {
  const { NVIDIA_TF32_OVERRIDE: _nvidia, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE: _torch, ...env } = process.env
  return env
}

/**
 * Each type of the peer, on the weights that the bench wrote, and how far its log-probabilities are from ours; `keep` is given what is
 * there after each.
 */
async function torchParts(keep) {
  const model = await weights()
  const [rows, length] = flags.lengths.split(/[x-]/)
  const of = flags.torch ? flags.torch.split(',') : wanted
  const measured = of.filter((part) => turnwiseParts.includes(part) && part !== 'parity')
  const { ours, ...answers } = await ownLogprobs(model)
  for (const dtype of ['f32', 'tf32', 'bf16']) {
    const given = [
      ...[join(here, 'peer.py'), '--model', model, '--dtype', dtype, '--batch', flags.batch],
      ...['--only', ['peak', 'logprobs', ...measured].join(','), '--rows', rows],
      ...['--length', length, '--steps', flags.steps],
    ]
    const limits = { env: peerEnvironment(), seconds: secondsLeft() }
    const { logprobs, ...figures } = await lastLine(flags.python, given, limits)
    const isComparable = logprobs !== undefined && ours !== undefined
    const apart = isComparable && Math.max(...logprobs.map((value, at) => Math.abs(value - ours[at])))
    answers[dtype] = { ...figures, ...(isComparable && { logprobsApart: apart }) }
    keep(answers)
  }
  return answers
}

async function answerOf(part, keep) {
  if (part === 'torch') return torchParts(keep)
  const answer = await turnwise(...commandOf(part))
  if (part !== 'selftest') return answer
  const { findings = [], ...rest } = answer
  return { ...rest, checks: findings.length, failures: findings.filter(({ passed }) => !passed) }
}

const failedIn = (answer) => answer.failed !== undefined || Object.values(answer).some((each) => each?.failed)

const { device, shape, base, lengths } = flags
const results = { device, shape, base, lengths, parts: {} }
const write = resultsFile(flags.out, results)
const startedAt = Date.now()
const unfinished = 'it was begun, and this measurement ended before it did'

/** Shows what was measured, and says that it could not be kept where that is so. */
function show(status) {
  const took = Math.round((Date.now() - startedAt) / 1000)
  const heading = flags.row ? `## ${flags.row}: ${took} s, status ${status}\n` : ''
  const text = `${heading}${table(results)}\n\n${flags.out}\n`
  console.log(text)
  try {
    if (flags.tables) appendFileSync(flags.tables, `${text}\n`)
  } catch (error) {
    console.error(`run.mjs: ${flags.tables} could not be written: ${error.message}. The table is above.`)
  }
  if (write()) return
  console.error(`run.mjs: These are the results:\n${JSON.stringify(results)}`)
  process.exitCode ||= 1
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    endAll()
    const status = 128 + constants.signals[signal]
    const open = Object.values(results.parts).find((part) => part.failed === unfinished)
    if (open) open.failed = `ended by ${signal}`
    show(status)
    process.exit(status)
  })
}

/** Measures one part; the file says before it that it was begun. Returns true if it passed. */
async function measure(part) {
  const began = Date.now()
  console.error(part)
  results.parts[part] = { failed: unfinished }
  write() // so far: this part may be the last
  const keep = (sofar) => {
    results.parts[part] = { ...sofar, failed: unfinished }
    write()
  }
  const answer = await answerOf(part, keep).catch((error) => ({
    ...results.parts[part],
    failed: error.message,
  }))
  results.parts[part] = { ...answer, wallSeconds: (Date.now() - began) / 1000 }
  write()
  if (!failedIn(answer)) return true
  Object.assign(results.parts[part], await evidence(part))
  write()
  return false
}

try {
  mkdirSync(dirname(flags.out), { recursive: true })
  mkdirSync(flags.data, { recursive: true })
} catch (error) {
  results.failed = `A folder could not be made: ${error.message}`
  console.error(`run.mjs: ${results.failed}`)
  write()
  process.exit(2)
}
let isStopped = false
// The shape's weights are written before PyTorch is asked for them.
for (const part of parts.filter((name) => wanted.includes(name))) {
  isStopped = !(await measure(part)) && flags.stop
  if (isStopped) break
}
process.exitCode = isStopped ? 1 : 0
show(process.exitCode)
