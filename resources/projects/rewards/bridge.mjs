/**
 * Scores completions exactly as the run did, for programs that are not written in JavaScript. One JSON object per line
 * comes in, {"prompt": text, "completion": text, "row": object or its JSON text, "step": number}, and one goes out in the
 * same order: {"parts": {name: number or null}, "total": number or null, "failures": [{"name", "message"}]}.
 *
 *   node --permission --allow-fs-read=FOLDER bridge.mjs
 *
 * Needs Node 20.15 or later and nothing else; FOLDER is this one, and older versions run without the two options. rewards.json
 * says which functions there are; builtIns.mjs holds those that came with the program, code/ your own. Those run in
 * a virtual machine (QuickJS in WebAssembly, machine.mjs and quickjs.wasm), as they did in the run: no file, no network, no clock,
 * a limit on time and memory, and nothing left behind for the next call. The options are a second wall around it.
 */
import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { builtInReward } from './builtIns.mjs'
import { Machine } from './machine.mjs'

// Older versions know the time of the process as a whole, in which nothing else works.
process.threadCpuUsage ??= process.cpuUsage

const read = (name) => readFileSync(new URL(name, import.meta.url), 'utf8')
const { failurePolicy, callMs, limits, rewards } = JSON.parse(read('rewards.json'))

/** One per file of code. */
const machines = new Map()

function machineOf(code) {
  if (!machines.has(code)) {
    const opening = Machine.load(read(code), limits, null)
    // What went wrong is told where it is called.
    opening.catch(() => undefined)
    machines.set(code, opening)
  }
  return machines.get(code)
}

function codeFunction({ code, function: target, settings }) {
  void machineOf(code)
  return async ({ fault, ...sample }) => {
    if (fault !== undefined) throw new Error(fault)
    const machine = await machineOf(code)
    const { settings: usual, needs } = JSON.parse(machine.description)
    // Whoever asks knows texts alone.
    const tokens = needs?.includes('tokens') ? { tokens: null } : {}
    const input = JSON.stringify({ ...sample, settings: { ...usual, ...settings }, ...tokens })
    const text = machine.call({ target, input, seed: crc32(input, crc32(target)) | 0, callMs })
    if (machine.isSpoiled) machines.delete(code)
    const answer = JSON.parse(text)
    if (answer.failure !== undefined) throw new Error(answer.failure.message)
    const { value, perToken, perTurn } = answer
    return value === undefined ? (perToken ?? perTurn).reduce((sum, each) => sum + each, 0) : value
  }
}

function builtInFunction({ builtIn, settings }) {
  const reward = builtInReward(builtIn, settings)
  return (sample) => {
    const [answer] = reward.score([sample])
    if (answer.failure !== undefined) throw new Error(answer.failure.message)
    return answer.value
  }
}

const functions = rewards.map((reward) => ({
  ...reward,
  score: reward.code === undefined ? builtInFunction(reward) : codeFunction(reward),
}))

/** `fault`: why this sample, of which an earlier process fell silent, is not given to code of your own again. */
async function answer({ prompt, completion, row, step = 0, fault }) {
  const sample = { prompt, completion, row: typeof row === 'string' ? JSON.parse(row) : row, step, fault }
  const [parts, failures] = [{}, []]
  let total = null
  for (const { name, weight, score } of functions) {
    let part
    try {
      part = await score(sample)
      if (part !== null && !Number.isFinite(part)) throw new Error('Expected a finite number or null.')
    } catch (error) {
      // On one line: what is printed of it must not begin another.
      const message = (error instanceof Error ? error.message : String(error)).replaceAll(/\s*[\r\n\u2028\u2029]\s*/g, ' ')
      if (failurePolicy === 'fail') throw new Error(`The reward function "${name}" failed: ${message}`)
      failures.push({ name, message })
      part = failurePolicy === 'zero' ? 0 : null
    }
    parts[name] = part
    if (part !== null) total = (total ?? 0) + weight * part
  }
  return { parts, total, failures }
}

/** Newlines alone end a line: text may hold other separators. */
async function* linesOf(input) {
  let rest = ''
  input.setEncoding('utf8')
  for await (const piece of input) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()
    yield* lines
  }
  yield rest
}

for await (const line of linesOf(process.stdin)) {
  if (line.trim() !== '') process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`)
}
