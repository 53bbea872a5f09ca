/** What the JavaScript peers share: arguments, prompts, clocks, peak memory, the one JSON line each prints. */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

export const PROMPT_TOKENS = 64
/** Tokens of a measured completion; they are counted from the first to the last. */
export const NEW_TOKENS = 65
const WARM_UP_TOKENS = 6

/** Flags of every decode peer; `--check` prints greedy ids instead of a measurement. */
export function readFlags() {
  const { values } = parseArgs({
    options: {
      model: { type: 'string' },
      shape: { type: 'string', default: '' },
      threads: { type: 'string', default: '1' },
      batch: { type: 'string', default: '1' },
      precision: { type: 'string', default: 'f32' },
      sampling: { type: 'string', default: 'multinomial' },
      repeats: { type: 'string', default: '2' },
      gguf: { type: 'string' },
      check: { type: 'boolean', default: false },
    },
  })
  if (!values.model) throw new Error('--model is missing: a folder made by setup.mjs')
  return {
    ...values,
    threads: Number(values.threads),
    batch: Number(values.batch),
    repeats: Number(values.repeats),
    vocabSize: JSON.parse(readFileSync(`${values.model}/hf/config.json`, 'utf8')).vocab_size,
  }
}

/** [batch][tokens] ids in [3, vocabSize), the same in every peer, in Python too (mulberry32). */
export function randomPrompts(batch, vocabSize, seed = 1, tokens = PROMPT_TOKENS) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return Array.from({ length: batch }, () =>
    Array.from({ length: tokens }, () => 3 + Math.floor(next() * (vocabSize - 3))),
  )
}

/** Peak resident memory of this process so far. */
export function peakRssBytes() {
  const line = readFileSync('/proc/self/status', 'utf8').match(/VmHWM:\s+(\d+) kB/)
  return Number(line[1]) * 1024
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]

/**
 * Runs `generate(newTokens, onStep)` once to warm up and `repeats` times for the clock; onStep is called when every row
 * has its next token. Decoding is counted from the first token to the last, prefill up to the first.
 */
export async function measureDecode(flags, generate) {
  await generate(WARM_UP_TOKENS, () => {})
  const rounds = []
  for (let repeat = 0; repeat < flags.repeats; repeat++) rounds.push(await timeOne(generate))
  const rate = (tokens, ms) => (tokens * 1000) / ms
  const rates = rounds.map((round) => rate(flags.batch * (NEW_TOKENS - 1), round.decodeMs))
  return {
    shape: flags.shape,
    threads: flags.threads,
    batch: flags.batch,
    precision: flags.precision,
    sampling: flags.sampling,
    tokensPerSecond: median(rates),
    tokensPerSecondBest: Math.max(...rates),
    stepMsMedian: median(rounds.flatMap((round) => round.steps)),
    cpuMsPerStep: Math.min(...rounds.map((round) => round.cpuMsPerStep)),
    prefillTokensPerSecond: median(rounds.map((r) => rate(flags.batch * PROMPT_TOKENS, r.prefillMs))),
    peakRssBytes: peakRssBytes(),
  }
}

async function timeOne(generate) {
  const instants = [performance.now()]
  const cpu = []
  await generate(NEW_TOKENS, () => {
    instants.push(performance.now())
    cpu.push(process.cpuUsage())
  })
  if (instants.length !== NEW_TOKENS + 1) throw new Error(`Expected ${NEW_TOKENS} steps, saw ${instants.length - 1}.`)
  const used = cpu.at(-1).user + cpu.at(-1).system - cpu[0].user - cpu[0].system
  return {
    prefillMs: instants[1] - instants[0],
    decodeMs: instants.at(-1) - instants[1],
    steps: instants.slice(2).map((instant, i) => instant - instants[i + 1]),
    cpuMsPerStep: used / 1000 / (NEW_TOKENS - 1),
  }
}
