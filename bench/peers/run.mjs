/**
 * Runs Turnwise and its peers in turn on the same work and prints ratios.
 *
 *   node run.mjs [--only train|step|decode] [--shape S]… [--threads N]… [--batch B]… [--precision f32|int8|int4]…
 *                [--lengths PROMPT+NEW]… [--peer NAME]… [--rounds 2] [--steps 2] [--minutes 25]
 *                [--others SHARE] [--all] [--no-pin] [--out NAME]
 *
 * What takes several values takes them apart or with commas: --batch 1,8,16.
 * --others 0.05 waits up to a minute until other processes take less of the processors, and measures a contestant again,
 * twice at most, where they took more meanwhile.
 * Each contestant is a process of its own; a round is ours and every peer, the next round goes the other way (A B B A).
 * Set up first with setup.mjs; check.mjs shows that all compute the same model.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { parseArgs } from 'node:util'
import { contestants, participants } from './contestants.mjs'
import { here, stepShapes } from './places.mjs'
import { markdown } from './report.mjs'

const CHILD_LIMIT_MS = 600_000
const SAMPLE_MS = 20
const TICKS_PER_SECOND = 100
const MOST_TRIES = 3 // with --others

const list = { type: 'string', multiple: true }
const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    shape: list,
    threads: list,
    batch: list,
    precision: list,
    lengths: list,
    peer: { ...list, default: [] },
    rounds: { type: 'string', default: '2' },
    steps: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '25' },
    others: { type: 'string', default: '1' },
    all: { type: 'boolean', default: false },
    'no-pin': { type: 'boolean', default: false },
    out: { type: 'string' },
  },
})

for (const [name, value] of Object.entries(flags))
  if (Array.isArray(value)) flags[name] = value.flatMap((each) => each.split(','))

/** The default is what fits in 25 minutes; --all adds both thread counts, both shapes, 4 bits and every variant. */
function chosenItems() {
  const numbers = (given, usual) => (given ?? usual).map(Number)
  const threads = numbers(flags.threads, flags.all ? ['1', '2'] : ['1'])
  const steps = Number(flags.steps)
  const sizes = { 'smol-30m': { rows: 8, length: 256 }, 'qwen2.5-0.5b': { rows: 2, length: 512 } }
  const shapes = flags.shape ?? Object.keys(sizes)
  const train = shapes.flatMap((shape) =>
    threads.map((count) => ({ kind: 'train', shape, threads: count, steps, ...sizes[shape] })),
  )
  const decodeShapes = flags.shape ?? (flags.all ? Object.keys(sizes) : ['qwen2.5-0.5b'])
  const batches = numbers(flags.batch, flags.all ? ['1', '8', '16'] : ['1', '16'])
  const decode = decodeShapes.flatMap((shape) =>
    threads.flatMap((count) =>
      (flags.precision ?? (flags.all ? ['f32', 'int8', 'int4'] : ['f32', 'int8'])).flatMap((precision) =>
        batches.map((batch) => ({ kind: 'decode', shape, threads: count, batch, precision, steps })),
      ),
    ),
  )
  return [...train, ...(flags.only === 'step' || flags.all ? stepItems() : []), ...decode].filter(
    ({ kind }) => !flags.only || kind === flags.only,
  )
}

/** Two prompts with eight completions each, short and long: it takes an hour, so only when asked for. */
function stepItems() {
  const lengths = [
    [96, 96],
    [512, 128],
  ]
  const wanted = flags.lengths?.map((given) => given.split('+').map(Number)) ?? lengths
  const threads = (flags.threads ?? ['2']).map(Number)
  return (flags.shape ?? stepShapes).flatMap((shape) =>
    threads.flatMap((count) =>
      wanted.map(([promptTokens, newTokens]) => ({
        ...{ kind: 'step', shape, threads: count, prompts: 2, promptTokens, newTokens },
        steps: Number(flags.steps),
      })),
    ),
  )
}

/** The last `threads` processors, the same for every contestant. */
function pinned(threads, command, args) {
  if (flags['no-pin'] || process.platform !== 'linux') return [command, args]
  const count = os.cpus().length
  const first = Math.max(0, count - threads)
  return ['taskset', ['-c', `${first}-${count - 1}`, command, ...args]]
}

/** Peaks of resident and anonymous memory of a process, looked at from outside. */
function watchProcess(pid) {
  const peaks = { processRssBytes: 0, processAnonymousBytes: 0 }
  const fields = { VmHWM: 'processRssBytes', RssAnon: 'processAnonymousBytes' }
  const look = () => {
    try {
      for (const [, name, kilobytes] of readFileSync(`/proc/${pid}/status`, 'utf8').matchAll(
        /(\w+):\s+(\d+) kB/g,
      )) {
        const field = fields[name]
        if (field) peaks[field] = Math.max(peaks[field], Number(kilobytes) * 1024)
      }
    } catch {
      // Ended, or not Linux: the peaks stay as they are.
    }
  }
  const timer = setInterval(look, SAMPLE_MS)
  return () => {
    clearInterval(timer)
    return peaks
  }
}

/** Clock ticks of all processors that were not idle, and of contestants that have ended. */
function busyTicks() {
  try {
    const [user, nice, system, , , ...rest] = readFileSync('/proc/stat', 'utf8')
      .split('\n')[0]
      .split(/\s+/)
      .slice(1, 9)
    const own = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ')
    const sum = (fields) => fields.reduce((total, field) => total + Number(field), 0)
    return { all: sum([user, nice, system, ...rest]), contestants: sum(own.slice(13, 15)) }
  } catch {
    return { all: NaN, contestants: NaN }
  }
}

/** → the share of the processors that neither idled nor worked for the contestant, of the time until it is called. */
function watchOthers() {
  const [start, before] = [performance.now(), busyTicks()]
  return () => {
    const after = busyTicks()
    const ticks = after.all - before.all - (after.contestants - before.contestants)
    return ticks / TICKS_PER_SECOND / ((performance.now() - start) / 1000) / os.cpus().length
  }
}

/** Resolves when others have left the machine alone for some seconds, or after a minute. */
async function quiet() {
  const deadline = performance.now() + 60_000
  while (performance.now() < deadline) {
    const others = watchOthers()
    await new Promise((resolve) => setTimeout(resolve, 3000))
    if (!(others() > Number(flags.others))) return
  }
}

/** Once more while others take too much of the machine; the quietest of the tries counts. */
async function runQuietly(item, name) {
  let best = null
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (Number(flags.others) < 1) await quiet()
    const result = await runOne(item, name)
    if (result.error) return result
    console.error(
      `${labelOf(item)}  ${name}: ${speedOf(result)}, others took ${(result.othersShare * 100).toFixed(0)} %`,
    )
    if (best === null || result.othersShare < best.othersShare) best = result
    if (!(result.othersShare > Number(flags.others))) break
  }
  return best
}

function runOne(item, name) {
  const { command, args, env, read } = contestants[item.kind][name].start(item)
  const [file, fullArgs] = pinned(item.threads, command, args.map(String))
  return new Promise((settle) => {
    const quiet = { ...process.env, ...env, ORT_DISABLE_TELEMETRY: '1' } // contestants load ONNX Runtime too
    const child = spawn(file, fullArgs, { cwd: here, env: quiet, stdio: ['ignore', 'pipe', 'pipe'] })
    const stop = watchProcess(child.pid)
    const others = watchOthers()
    const limit = setTimeout(() => child.kill('SIGKILL'), CHILD_LIMIT_MS)
    let output = ''
    let errors = ''
    child.stdout.on('data', (data) => (output += data))
    child.stderr.on('data', (data) => (errors = (errors + data).slice(-2000)))
    child.on('error', (error) => settle({ error: error.message }))
    child.on('close', (code, signal) => {
      clearTimeout(limit)
      const memory = stop()
      if (code !== 0)
        return settle({ error: `${signal ?? `exit ${code}`}: ${sentenceOf(errors)}` })
      settle({ ...read(output), ...memory, othersShare: others() })
    })
  })
}

function describeMachine() {
  const cpus = os.cpus()
  const info = readFileSync('/proc/cpuinfo', 'utf8')
  const isa = ['avx2', 'avx512f', 'avx512_vnni', 'amx_tile'].filter((flag) => info.includes(` ${flag}`))
  const memory = `${(os.totalmem() / 2 ** 30).toFixed(0)} GB`
  return `${cpus.length} × ${cpus[0].model} (${isa.join(', ')}), ${memory}, ${os.type()} ${os.release()}, Node ${process.version}.`
}

/** What a contestant said last, without advice, which is indented, and without what Node says of itself. */
const sentenceOf = (errors) =>
  errors
    .split('\n')
    .filter((line) => /^\S/.test(line) && !/^(?:Node\.js v|[}\])^~])/.test(line))
    .at(-1) ?? 'it said nothing'

function labelOf({ kind, shape, threads, batch = '', precision = '', promptTokens, newTokens }) {
  const lengths = promptTokens && `${promptTokens}+${newTokens}`
  return [kind, shape, `${threads} threads`, batch && `batch ${batch}`, precision, lengths]
    .filter(Boolean)
    .join(' ')
}

const speedOf = ({ tokensPerSecond, secondsPerStep }) =>
  tokensPerSecond === undefined
    ? `${secondsPerStep.toFixed(2)} s a step`
    : `${tokensPerSecond.toFixed(1)} tokens/s`

async function runItem(item, deadline, rounds) {
  const names = participants(item, flags.peer, flags.all)
  if (names.length === 0) return
  for (let index = 0; index < Number(flags.rounds); index++) {
    const round = {}
    rounds.push(round)
    for (const name of index % 2 ? names.toReversed() : names) {
      if (performance.now() > deadline) return
      const result = await runQuietly(item, name)
      if (result.error) console.error(`${labelOf(item)}  ${name}: ${result.error}`)
      else round[name] = result
      write()
    }
  }
}

const startedAt = new Date().toISOString().slice(0, 16).replace('T', ' ')
const deadline = performance.now() + Number(flags.minutes) * 60_000
const report = { startedAt, machine: describeMachine(), results: [], skipped: [] }

/** After every contestant, so that nothing is lost if the rest is not waited for. */
function write() {
  const out = `${here}results/${flags.out ?? startedAt.slice(0, 10)}`
  mkdirSync(`${here}results`, { recursive: true })
  writeFileSync(`${out}.json`, JSON.stringify(report, null, 1) + '\n')
  writeFileSync(`${out}.md`, markdown(report))
}

for (const item of chosenItems()) {
  if (performance.now() > deadline) {
    report.skipped.push(item)
    continue
  }
  const rounds = []
  report.results.push({ item, rounds })
  await runItem(item, deadline, rounds)
}
write()
console.log(markdown(report))
if (report.skipped.length > 0)
  console.error(`${report.skipped.length} items did not fit in ${flags.minutes} minutes.`)
