/**
 * Scores completions exactly as the run did, for programs that are not written in JavaScript. One JSON object per line
 * comes in, {"prompt": text, "completion": text, "row": object or its JSON text, "step": number}, and one goes out in the
 * same order: {"parts": {name: number or null}, "total": number or null, "failures": [{"name", "message"}]}.
 *
 *   node --experimental-vm-modules --disable-warning=ExperimentalWarning bridge.mjs
 *
 * Needs Node 20.15 or later and nothing else. rewards.json says which functions there are; builtIns.mjs holds those that
 * came with the program, code/ your own, harness.js what your own found around itself: no file, no network, no clock.
 */
import { readFileSync } from 'node:fs'
import vm from 'node:vm'
import { crc32 } from 'node:zlib'
import { builtInReward } from './builtIns.mjs'

const read = (name) => readFileSync(new URL(name, import.meta.url), 'utf8')
const { failurePolicy, callMs, rewards } = JSON.parse(read('rewards.json'))

const harness = new vm.Script(rewards.some(({ code }) => code !== undefined) ? read('harness.js') : 'null')

/** A world with one module in it, which is evaluated anew for every call, so that none sees what an earlier one left there. */
async function openCode(file, source) {
  if (vm.SourceTextModule === undefined) throw new Error('Start node with --experimental-vm-modules.')
  const context = vm.createContext(Object.create(null))
  const inside = harness.runInContext(context)
  let cachedData
  const evaluate = async () => {
    const module = new vm.SourceTextModule(source, { context, identifier: file, cachedData })
    cachedData ??= module.createCachedData()
    await module.link((name) => {
      throw new Error(`Cannot import "${name}": reward code stands alone.`)
    })
    await module.evaluate({ timeout: 2_000 })
    return module.namespace
  }
  let current = await evaluate()
  const { settings, needs } = JSON.parse(inside.describe(standIn(current, () => current)))
  context.call = inside.call
  const renew = async () => {
    current = await evaluate()
  }
  return { context, inside, settings, needs, renew }
}

/** What the module exports, each function asking for the one of now. */
function standIn(namespace, now) {
  const delegates = (holder, read) =>
    Object.keys(holder)
      .filter((name) => typeof holder[name] === 'function')
      .map((name) => [name, (...given) => read()[name](...given)])
  const { rewards: group } = namespace
  const hasGroup = typeof group === 'object' && group !== null
  return {
    settings: namespace.settings,
    needs: namespace.needs,
    ...Object.fromEntries(delegates(namespace, now)),
    ...(hasGroup ? { rewards: Object.fromEntries(delegates(group, () => now().rewards)) } : {}),
  }
}

const callScript = new vm.Script('call(target, input, seed)')

function codeFunction({ code, function: target, settings }) {
  const opening = openCode(code, read(code))
  // What went wrong is told where it is called.
  opening.catch(() => undefined)
  return async (sample) => {
    const { context, inside, settings: usual, needs, renew } = await opening
    await renew()
    // Whoever asks knows texts alone.
    const tokens = needs?.includes('tokens') ? { tokens: null } : {}
    const input = JSON.stringify({ ...sample, settings: { ...usual, ...settings }, ...tokens })
    Object.assign(context, { target, input, seed: crc32(input, crc32(target)) | 0 })
    let text = callScript.runInContext(context, { timeout: callMs })
    // A promise: what can be settled at all is settled before the next turn.
    if (text === undefined) text = await new Promise((resolve) => setImmediate(() => resolve(inside.take())))
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

async function answer({ prompt, completion, row, step = 0 }) {
  const sample = { prompt, completion, row: typeof row === 'string' ? JSON.parse(row) : row, step }
  const [parts, failures] = [{}, []]
  let total = null
  for (const { name, weight, score } of functions) {
    let part
    try {
      part = await score(sample)
      if (part !== null && !Number.isFinite(part)) throw new Error('Expected a finite number or null.')
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
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
