/** Losses that attack or confuse whatever runs them: each is refused in a sentence, in bounded time and memory, and the next one is unharmed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { requireWorkingWorkflows } from '#host/code/resolveWorkflow.ts'
import { openLoss, traceInto } from '#host/code/resolveAlgorithms.ts'
import { openSandbox, type SandboxLimits } from '#host/sandbox/sandbox.ts'
import '../../keptSandboxes.ts'
import { bareExperience } from '../../rl/bareExperience.ts'
import { eachOf } from '../../sweeps.ts'

const inputs = 'logp, oldLogp, advantages, mask, entropy, settings'
const good =
  '-mean(min(exp(logp - oldLogp) * advantages, clip(exp(logp - oldLogp), 0.8, 1.2) * advantages), mask)'

const module = (body: string, rest = '') =>
  `export default defineLoss({ ${rest} loss({ ${inputs} }) { ${body} } })`

const loops = /Stopped after 200 ms of processor time|took more than 2 s of processor time/
const memory = /memory/i

/** What stands in the file, and what the person reads. */
type Cases = Readonly<Record<string, readonly [code: string, sentence: RegExp]>>

const endless: Cases = {
  'an endless loop at load': [`for (;;) {}\n${module(`return ${good}`)}`, loops],
  'an endless loop in the loss': [module('for (;;) {}'), loops],
  'an endless loop in lossWeight': [module(`return ${good}`, 'lossWeight: () => { while (true); },'), loops],
  'an endless loop in a getter of the definition': [
    `export default defineLoss({ get loss() { for (;;); } })`,
    loops,
  ],
  'an endless regular expression': [module(`/^(a+)+$/.test('a'.repeat(40) + 'b'); return ${good}`), loops],
  'an endless generator': [
    module(`function* all() { for (;;) yield 1 } return [...all()].length * ${good}`),
    /memory|Stopped after \d+ ms/i,
  ],
  'jobs that never end': [
    module(`const again = () => Promise.resolve().then(again); again(); for (;;) ; return ${good}`),
    loops,
  ],
  'a flood of promises': [
    module(`const all = []; for (let i = 0; i < 1e8; i++) all.push(new Promise(() => {})); return ${good}`),
    /memory|Stopped after \d+ ms/i,
  ],
}

const hostile: Cases = {
  // ---- never enough ----
  'memory in lists': [module('const all = []; for (;;) all.push(new Array(1e5).fill(0))'), memory],
  'memory in text': [module("let s = 'x'; for (;;) s += s"), /memory|string|length/i],
  'memory in a buffer': [module('const all = []; for (;;) all.push(new ArrayBuffer(1e8))'), /memory|alloc/i],
  'deep recursion': [module('const f = () => 1 + f(); return f()'), /stack/i],
  'recursion in toString': [
    module('const o = { toString() { return String(o) } }; return mean(logp * String(o))'),
    /stack/i,
  ],
  'millions of operations': [
    module('let x = logp; for (let i = 0; i < 1e7; i++) x = x * 1.0001; return -mean(x, mask)'),
    /more than 5000 operations/,
  ],
  'millions of metrics': [
    module(
      `const metrics = {}; const x = mean(logp, mask); for (let i = 0; i < 2e5; i++) metrics['m' + i] = x; return { loss: ${good}, metrics }`,
    ),
    /cannot be read|metrics/,
  ],
  'millions of terms': [
    module(`const loss = ${good}; return { terms: Array.from({ length: 2e5 }, () => ({ loss })) }`),
    /cannot be read|terms/,
  ],
  'a title of a million letters': [
    module(`return ${good}`, "title: 'x'.repeat(1e6),"),
    /title|description|did not load|loss/i,
  ],

  // ---- not what it seems ----
  'a forged tensor': [
    module(`const Tensor = logp.constructor; return new Tensor(99, 'batch')`),
    /cannot be read/,
  ],
  'a forged tensor of another level': [
    module(`const Tensor = logp.constructor; return new Tensor(logp.id, 'batch')`),
    /cannot be read/,
  ],
  'an operation on a forged level': [
    module(`const Tensor = logp.constructor; return -mean(new Tensor(logp.id, 'sequence') * 2)`),
    /cannot be read/,
  ],
  'a scalar made of a forged level': [
    module(`const Tensor = logp.constructor; return new Tensor(logp.id, 'batch') * -1`),
    /cannot be read/,
  ],
  'an operand from the future': [
    module(`const Tensor = logp.constructor; return mean(logp * new Tensor(4000, 'token'), mask)`),
    /cannot be read/,
  ],
  'an operand that is no number': [
    module(`const Tensor = logp.constructor; return new Tensor({ valueOf: () => 0 }, 'batch')`),
    /cannot be read/,
  ],
  'a record forged by toJSON': [
    module(
      `Object.prototype.toJSON = function () { delete Object.prototype.toJSON; return { nodes: [{ op: 'add', per: 'batch', of: [0, 1] }], terms: [{ loss: 0, weight: 'tokens' }], metrics: {} } }; return ${good}`,
    ),
    /cannot be read/,
  ],
  'a record of levels that do not go together': [
    module(
      `Array.prototype.toJSON = undefined; Object.prototype.toJSON = function () { delete Object.prototype.toJSON; return { nodes: [{ op: 'input', per: 'batch', of: [], value: 'logp' }, { op: 'sum', per: 'token', of: [0] }, { op: 'mean', per: 'batch', of: [1] }], terms: [{ loss: 2, weight: 'tokens' }], metrics: {} } }; return ${good}`,
    ),
    /cannot be read/,
  ],
  'a record of too many operations': [
    module(
      `Object.prototype.toJSON = function () { delete Object.prototype.toJSON; const nodes = [{ op: 'input', per: 'token', of: [], value: 'logp' }]; for (let i = 0; i < 4e4; i++) nodes.push({ op: 'exp', per: 'token', of: [i] }); nodes.push({ op: 'mean', per: 'batch', of: [4e4] }); return { nodes, terms: [{ loss: 4e4 + 1, weight: 'tokens' }], metrics: {} } }; return ${good}`,
    ),
    /cannot be read/,
  ],
  'a number that is none, by the record': [
    module(
      `Object.prototype.toJSON = function () { delete Object.prototype.toJSON; return { nodes: [{ op: 'number', per: 'batch', of: [], value: 'many' }], terms: [{ loss: 0, weight: 'tokens' }], metrics: {} } }; return ${good}`,
    ),
    /cannot be read|not-finite/,
  ],
  'an object like a tensor': [
    module(`return { id: 0, per: 'batch', __proto__: null }`),
    /Expected a tensor or a number|loss returned/,
  ],
  'a proxy of a tensor': [
    module('return mean(new Proxy(logp, {}) * advantages, mask)'),
    /tensor|read|refused|invariant|proxy/i,
  ],
  'a definition that is a proxy': [
    `export default defineLoss(new Proxy({ loss: () => 1 }, { get: (_, name) => (name === 'loss' ? () => { throw new Error('never mine') } : undefined), has: () => true }))`,
    /never mine|no-gradient|kind|no loss|is no/i,
  ],
  'inputs that are written to': [
    module(`arguments[0].mask = logp; return ${good}`),
    /read.only|setter|only a getter|no setter/i,
  ],
  'a global that is replaced': [module(`globalThis.exp = (x) => x; return ${good}`), /read.only|exp/i],
  'an operator that is replaced': [module(`globalThis.__op = () => 1; return ${good}`), /read.only|__op/i],
  'a tensor with another prototype': [
    module(`Object.setPrototypeOf(logp, null); return ${good}`),
    /extensible|prototype|frozen/i,
  ],
  'a name that collides with an operator': [
    `const __op = () => 1\n${module(`return ${good}`)}`,
    /the values are one per batch/,
  ],
  'a throwing toString': [
    module(`throw { get message() { throw new Error('inner') }, toString() { throw new Error('outer') } }`),
    /./,
  ],
  'an error without words': [module('throw undefined'), /undefined|./],

  // ---- not what was asked for ----
  'an async loss': [
    `export default defineLoss({ async loss({ logp, mask }) { return -mean(logp, mask) } })`,
    /returned|tensor/,
  ],
  'a promise of a loss': [module(`return Promise.resolve(${good})`), /tensor|returned|nothing/],
  'a generator as loss': [
    'export default defineLoss({ *loss({ logp, mask }) { yield -mean(logp, mask) } })',
    /tensor|nothing|returned/,
  ],
  'no loss at all': ['export default defineLoss({})', /loss/],
  'a loss that is a number': ['export default defineLoss({ loss: 3 })', /loss/],
  'a number that learns nothing': [module('return 3'), /no-gradient/],
  'NaN as a constant': [module(`return ${good} * (0 / 0)`), /NaN/],
  'an infinite constant': [module(`return ${good} * (1 / 0)`), /not-finite/],
  'a list of losses': [module(`return [${good}]`), /returned a list/],
  'text as loss': [module("return 'low'"), /returned a string/],
  'no terms': [module('return { terms: [] }'), /cannot be read/],
  'terms that are no list': [module('return { terms: 7 }'), /iterable|terms|read/i],
  'a weight per token': [module(`return ${good}`, 'lossWeight: ({ mask }) => mask,'), /one value per token/],
  'a weight of no kind': [module(`return ${good}`, "lossWeight: 'words',"), /lossWeight is/],
  'values that do not go together': [
    module('return -mean(mean(logp, mask, "group") * sum(logp, mask, "position"))'),
    /do not go together/,
  ],
  'a level that is none': [module("return -mean(logp, mask, 'word')"), /over is batch, group/],
  'a mask that is text at the wrong place': [
    module("return -mean(logp, 'mask', mask)"),
    /over is batch|mask/,
  ],
  'a metric with a strange name': [
    module(`return { loss: ${good}, metrics: { 'a b\\n<script>': mean(logp, mask) } }`),
    /cannot be read/,
  ],
  'a metric named like a prototype': [
    module(`const metrics = JSON.parse('{"__proto__": 1}'); return { loss: ${good} + NaN, metrics }`),
    /NaN/,
  ],
  'settings without defaults': [module(`return ${good}`, 'settings: { clip: {} },'), /needs a default/],
  'settings that are functions': [
    module(`return ${good}`, 'settings: { clip: () => 1 },'),
    /needs a default/,
  ],
  'a setting outside its own limits': [
    module(`return ${good}`, 'settings: { clip: { default: 5, minimum: 0, maximum: 1 } },'),
    /clip|maximum|most/,
  ],
  'a setting of a wrong type': [
    module(`return ${good}`, "settings: { clip: { default: 1, minimum: 'low' } },"),
    /did not load|settings|minimum|loss/i,
  ],
  'advantages of an algorithm that is none': [
    module(`return ${good}`, "advantages: 'constructor',"),
    /constructor/,
  ],
  'an experience that is none': [module(`return ${good}`, "experience: 'dreams',"), /./],
  'a group of a million': [module(`return ${good}`, 'groupSize: 1e6,'), /./],

  // ---- out of the room ----
  'an import of a file': [`import fs from 'node:fs'\n${module(`return ${good}`)}`, /import|module/i],
  'a dynamic import': [
    module(`import('node:fs').then((fs) => fs.rmSync('/')); return ${good} * NaN`),
    /import|module|NaN/i,
  ],
  eval: [module(`eval('1'); return ${good} * NaN`), /eval|NaN|not a function|defined/i],
  'the function constructor': [
    module(`return (() => {}).constructor('return process')()`),
    /process|constructor|allowed|eval|defined/i,
  ],
  'the process': [module('return process.exit(0)'), /process/],
  'a fetch': [module(`fetch('http://localhost'); return ${good}`), /fetch/],
}

const advantageFaults: Readonly<Record<string, readonly [body: string, sentence: RegExp]>> = {
  'too few rows': ['return []', /advantages|rows/i],
  'numbers that are none': ['return rows.map(() => NaN)', /advantages|number|finite/i],
  'infinite numbers': ['return rows.map(() => 1 / 0)', /advantages|number|finite/i],
  'a list of another length': [
    'return rows.map(() => [1, 2, 3, 4, 5, 6, 7, 8, 9])',
    /advantages|tokens|numbers/i,
  ],
  text: ["return 'all'", /advantages|rows/i],
  'an endless list': [
    'const all = []; for (;;) all.push(all.length); return all',
    /memory|Stopped after \d+ ms/i,
  ],
  'a getter that throws': [
    'return rows.map(() => ({ get advantages() { throw new Error("mine") } }))',
    /mine/,
  ],
}

const row = {
  ...bareExperience,
  group: 0,
  actionMask: Uint8Array.of(0, 1, 1),
  turnIds: null,
  turnRewards: [1],
  behaviorLogprobs: null,
  referenceLogprobs: null,
  behaviorValues: null,
}

/** The memory of a loss is larger; filling it takes longer and shows nothing else. */
const small = { memoryMb: 64 }
/** Where the limit of time is what ends it. */
const short = { ...small, callMs: 200 }

const open = (code: string, limits: Partial<SandboxLimits> = small) =>
  openLoss('mine.js', { code, language: 'js' }, (source, own) => openSandbox(source, { ...own, ...limits }))

async function refusal(code: string, limits?: Partial<SandboxLimits>): Promise<unknown> {
  const loss = await open(code, limits)
  await using _ = loss.sandbox
  return await traceInto(loss, {})
}

const expectSentence = (error: unknown, sentence: RegExp) => {
  expect(error).toBeInstanceOf(AppError)
  const { message } = error as AppError
  expect(message).toMatch(sentence)
  expect(message.length).toBeLessThan(2_000)
}

describe('is refused in a sentence', () => {
  const isAlways = (title: string) => title === 'an endless loop at load'
  eachOf(test, { rows: Object.keys(endless), isAlways }, '%s', async (title) => {
    const [code, sentence] = endless[title]!
    expectSentence(await refusal(code, short).catch((error: unknown) => error), sentence)
  })

  test.each(Object.keys(hostile))('%s', async (title) => {
    const [code, sentence] = hostile[title]!
    expectSentence(await refusal(code).catch((error: unknown) => error), sentence)
  })

  test.each(Object.keys(advantageFaults))('advantages: %s', async (title) => {
    const [body, sentence] = advantageFaults[title]!
    const code = module(`return ${good}`, `advantages({ rows }) { ${body} },`)
    const loss = await open(code, title === 'an endless list' ? short : small)
    await using _ = loss.sandbox
    await traceInto(loss, {})
    const batch = [row, row]
    const configured = loss.algorithm.configure({})
    expectSentence(
      await Promise.resolve()
        .then(() => configured.advantages(batch))
        .catch((error: unknown) => error),
      sentence,
    )
  })

  afterAll(() => {
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('toJSON')
  })
})

test('losses and workflows in Python are refused with what can be Python', async () => {
  const source = { code: 'print(1)', language: 'py', file: '/nowhere/mine.py' } as const
  const refused = (what: string) => ({
    message: `${what} cannot be written in Python.`,
    hint: expect.stringContaining('rewards, environments and data can be Python') as string,
  })
  await expect(openLoss('/nowhere/mine.py', source)).rejects.toMatchObject(refused('A loss'))
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'turnwise-workflow-')), 'mine.py')
  writeFileSync(file, 'print(1)')
  const config = parseRunConfig({
    model: 'm',
    data: { train: 't' },
    rollout: { workflow: { function: file } },
  })
  await expect(requireWorkingWorkflows(config)).rejects.toMatchObject(refused('A workflow'))
  rmSync(path.dirname(file), { recursive: true })
})

test('one process of a loss is unharmed by what the last one did', async () => {
  const attack = module(
    `Object.prototype.toJSON = () => 1; Array.prototype.map = () => []; Math.exp = () => 0; JSON.stringify = () => '{}'; globalThis.stolen = logp; return ${good}`,
  )
  const outcome = await refusal(attack).catch((error: unknown) => error)
  expect(outcome).toBeInstanceOf(AppError)
  // The very same sandbox starts every call from the same memory.
  const shared = await open(
    module(`globalThis.calls = (globalThis.calls ?? 0) + 1; return ${good} * globalThis.calls`),
  )
  await using _ = shared.sandbox
  const first = await traceInto(shared, {})
  expect(await traceInto(shared, {})).toEqual(first)
  await expect(refusal(module(`return ${good}`))).resolves.toMatchObject({ terms: [{ weight: 'tokens' }] })
})
