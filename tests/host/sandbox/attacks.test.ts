import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Machine } from '#host/sandbox/machine.ts'
import type { Sandbox, SandboxLimits } from '#host/sandbox/sandbox.ts'
import { isLong, isWhole, wholeTitle } from '../../sweeps.ts'
import { answerOf, kindOf, only, openBodies, openJs, sample, shortLimits } from './opened.ts'

type Case = readonly [name: string, body: string, kind: string]

/** All bodies live in one sandbox: that they do not disturb each other is part of the claim. */
function testBodies(
  cases: readonly Case[],
  check: (body: string, kind: string, sandbox: Sandbox) => Promise<void>,
  { limits = {}, top = '' }: { readonly limits?: Partial<SandboxLimits>; readonly top?: string } = {},
): void {
  let sandbox: Sandbox | undefined
  beforeAll(async () => {
    const bodies = cases.map(([, body]) => body)
    sandbox = await openBodies(bodies, { ...shortLimits, ...limits }, top)
  })
  afterAll(() => sandbox?.[Symbol.asyncDispose]())
  test.each(cases.map(([name, , kind], i) => [name, `body${i}`, kind] as const))(
    '%s',
    async (_, body, kind) => {
      if (sandbox === undefined) throw new Error('Expected a sandbox.')
      await check(body, kind, sandbox)
    },
  )
}

/** Scores 1 if the code can get hold of anything outside. */
const reaches = (expression: string) => `try { return (${expression}) ? 1 : 0 } catch { return 0 }`

const outside: readonly (readonly [string, string])[] = [
  ['require', `typeof require !== 'undefined'`],
  ['process', `typeof process !== 'undefined'`],
  ['fetch', `typeof fetch !== 'undefined'`],
  ['sockets', `typeof WebSocket !== 'undefined' || typeof XMLHttpRequest !== 'undefined'`],
  ['timers', `typeof setTimeout !== 'undefined'`],
  ['the way out of node:vm', `this?.constructor?.constructor('return process')()`],
  ['Function', `Function('return typeof process')() !== 'undefined'`],
  ['eval', `(0, eval)('typeof process') !== 'undefined'`],
  ['modules of QuickJS', `typeof std !== 'undefined' || typeof os !== 'undefined'`],
  ['WebAssembly', `typeof WebAssembly !== 'undefined'`],
  ['the collector', `typeof WeakRef !== 'undefined' || typeof FinalizationRegistry !== 'undefined'`],
  ['the clock', `Date.now() !== 946684800000 || new Date().getTime() !== 946684800000`],
  ['the clock behind the clock', `new (new Date(0).constructor)().getTime() !== 946684800000`],
  ['the harness', `Object.keys(globalThis).length > 0`],
]

describe('the sandbox has no', () => {
  const cases = outside.map(([name, expression]) => [name, reaches(expression), 'value 0'] as const)
  testBodies(cases, async (body, kind, sandbox) => {
    expect(kindOf(only(await sandbox.score([sample], body)))).toBe(kind)
  })
})

const endless: readonly Case[] = [
  ['an infinite loop', 'for (;;) {}', 'timeout'],
  [
    'a loop that catches everything',
    'for (;;) { try { for (;;) {} } catch {} finally { continue } }',
    'timeout',
  ],
  ['a loop of promises', 'return (async () => { for (;;) await 1 })()', 'timeout'],
  ['a loop in a getter of the result', 'return { get then() { for (;;) {} } }', 'timeout'],
  ['a catastrophic regular expression', `return Number(/^(a+)+$/.test('a'.repeat(60) + '!'))`, 'timeout'],
]

const bombs: readonly Case[] = [
  ['an array that grows', 'const a = []; for (;;) a.push({})', 'memory'],
  ['a string that doubles', `let text = 'x'; for (;;) text += text`, 'exception'],
  ['strings in an array', `const a = []; for (;;) a.push('x'.repeat(1e6 + a.length))`, 'memory'],
  ['a typed array', 'return new Uint8Array(1e9).length', 'memory'],
  ['typed arrays', 'const a = []; for (;;) a.push(new Float64Array(2e5))', 'memory'],
  ['a string of two gigabytes', `return 'x,'.repeat(1e9).length`, 'exception'],
  ['a map that grows', 'const m = new Map(); for (let i = 0; ; i++) m.set(i, i)', 'memory'],
  ['a replacement that grows', `let text = 'ab'; for (;;) text = text.replaceAll(/a|b/g, 'aabb')`, 'memory'],
  ['deep recursion', 'const f = (n) => 1 + f(n + 1); return f(0)', 'stack'],
  ['deep recursion through the engine', 'const f = () => [1].map(f); return f().length', 'stack'],
  ['deep recursion in JSON', `return JSON.parse('['.repeat(1e6)).length`, 'stack'],
  ['deep recursion in toString', 'const o = { toString() { return `${o}` } }; return +`${o}`', 'stack'],
  ['a deep regular expression', `return Number(new RegExp('('.repeat(1e5)).test('x'))`, 'exception'],
]

describe('the sandbox survives', () => {
  const survives = async (body: string, kind: string, sandbox: Sandbox) => {
    expect((await sandbox.score([sample, sample], body)).map(kindOf)).toEqual([kind, kind])
  }
  testBodies(endless, survives, { limits: { callMs: 100 } })
  // All of them are over before this.
  testBodies(bombs, survives, { limits: { callMs: 5_000, batchMs: 60_000 } })
})

describe('the sandbox refuses', () => {
  const modules = ['node:fs', 'fs', './secret.js', '/etc/passwd', 'https://example.org/x.js']
  const limits = { memoryMb: 16, answerCharacters: 1_000, loadMs: 2_000 }
  test.each(modules)('import of %s', async (name) => {
    const code = `import * as x from '${name}'; export default () => 1`
    await expect(Machine.load(code, limits, null)).rejects.toThrow(/Cannot import/)
  })

  const imports = modules.map((name): Case => [name, `return import('${name}').then(() => 1, () => 0)`, ''])
  describe('a later import of', () => {
    testBodies(imports, async (body, _, sandbox) => {
      expect(kindOf(only(await sandbox.score([sample], body)))).toBe('value 0')
    })
  })

  /** Ends in hours and never looks at the clock. */
  const search = `'a'.repeat(6e6).indexOf('a'.repeat(3e6) + 'b')`
  const evil = `export default ({ completion }) => completion === 'evil' ? ${search} : 0.5`
  const scored = async (completions: readonly string[], limits: Partial<SandboxLimits>) => {
    await using sandbox = await openJs(evil, limits)
    const inputs = completions.map((completion) => ({ ...sample, completion }))
    const answers = await sandbox.score(inputs, 'default')
    return answers.map((answer) => ('failure' in answer ? answer.failure : answer.value))
  }
  const stopped = { kind: 'timeout', message: 'Stopped after 100 ms of processor time.' }

  test('built-ins that never look at the clock: each is stopped, all others are scored', async () => {
    const evil = isLong ? [3, 4, 17] : isWhole ? [3, 4] : [3]
    const completions = Array.from({ length: 20 }, (_, i) => (evil.includes(i) ? 'evil' : 'fine'))
    expect(await scored(completions, { callMs: 100 })).toMatchObject(
      completions.map((each) => (each === 'fine' ? 0.5 : stopped)),
    )
  })

  test.runIf(isWhole)(wholeTitle('more of them than the batch has time for'), async () => {
    const answers = await scored(['evil', 'evil', 'evil', 'fine'], { callMs: 100, batchMs: 3_000 })
    const notRun: unknown = expect.stringMatching(
      /^Not run: .* used up the 3000 ms of processor time that 64 calls/,
    )
    expect(answers).toMatchObject([stopped, stopped, { message: notRun }, { message: notRun }])
  })

  test('more time than the batch has', async () => {
    await using sandbox = await openJs('export default () => { for (;;) {} }', { callMs: 100, batchMs: 250 })
    const answers = await sandbox.score(
      Array.from({ length: 20 }, () => sample),
      'default',
    )
    expect(answers.map(kindOf)).toEqual(Array.from({ length: 20 }, () => 'timeout'))
    const waited = answers.filter(
      (answer) => 'failure' in answer && answer.failure.message.startsWith('Not run'),
    )
    expect(waited.length).toBeGreaterThan(10)
  })

  test('endless work at the top level', async () => {
    await expect(openJs('for (;;) {}')).rejects.toMatchObject({
      code: 'sandbox/failed',
      cause: { kind: 'timeout' },
    })
  })
})

const results: readonly Case[] = [
  ['a huge string', `return 'x'.repeat(5e6)`, 'wrong-type'],
  ['a cyclic object', 'const a = {}; a.a = a; return a', 'wrong-type'],
  ['an object with toJSON', 'return { toJSON: () => 1 }', 'wrong-type'],
  ['an object with valueOf', 'return { valueOf: () => 1 }', 'wrong-type'],
  ['a proxy', 'return new Proxy({}, { get() { throw 1 } })', 'exception'],
  ['a proxy without mercy', 'return new Proxy({}, { get() { throw new Proxy({}, this) } })', 'exception'],
  ['a getter that throws', `return { get then() { throw Error('no') } }`, 'exception'],
  ['a boolean', 'return true', 'wrong-type'],
  ['nothing', '', 'wrong-type'],
  ['a bigint', 'return 1n', 'wrong-type'],
  ['a symbol', 'return Symbol()', 'wrong-type'],
  ['NaN', 'return 0 / 0', 'not-a-number'],
  ['infinity', 'return 1 / 0', 'not-a-number'],
  ['a promise of NaN', 'return Promise.resolve(NaN)', 'not-a-number'],
  ['a promise that never settles', 'return new Promise(() => {})', 'exception'],
  ['a rejected promise', `return Promise.reject(Error('no'))`, 'exception'],
  ['a thenable that lies', 'return { then(yes) { yes(1); throw 2 } }', 'value 1'],
  ['thrown undefined', 'throw undefined', 'exception'],
  ['a thrown symbol', 'throw Symbol("x")', 'exception'],
  ['a thrown proxy', 'throw new Proxy({}, { get() { throw 1 } })', 'exception'],
  ['a thrown getter', 'throw { get message() { for (;;) {} } }', 'timeout'],
  ['a thrown huge message', `throw Error('x'.repeat(5e6))`, 'exception'],
]

describe('what comes out is bounded and plain', () => {
  testBodies(results, async (body, kind, sandbox) => {
    const answer = only(await sandbox.score([sample], body))
    expect(kindOf(answer)).toBe(kind)
    expect(JSON.stringify(answer).length).toBeLessThan(20_000)
  })

  test('logged values are cut, counted and shown as they are when logged', async () => {
    const answer = await answerOf(`
      const cyclic = {}; cyclic.self = cyclic
      const list = [1]
      s.log.column('list', list); list.push(2)
      s.log.column('cyclic', cyclic)
      s.log.column('huge', 'x'.repeat(1e6))
      s.log.column('__proto__', { polluted: true })
      s.log.column('nothing', undefined)
      for (let i = 0; i < 100; i++) s.log.column('column' + i, i)
      s.log.metric('length', 3); s.log.metric('bad', NaN)
      for (let i = 0; i < 1000; i++) console.log('x'.repeat(5000))
      return 1`)
    if ('failure' in answer) throw new Error(answer.failure.message)
    expect(answer.columns).toMatchObject({ list: [1], nothing: '(undefined)', column0: 0 })
    expect(String(answer.columns['cyclic'])).toMatch(/^\(cannot be shown/)
    expect(String(answer.columns['huge']).length).toBeLessThan(4_100)
    expect(Object.keys(answer.columns).length).toBeLessThanOrEqual(32)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(answer.metrics).toEqual({ length: 3 })
    expect(answer.lines).toHaveLength(100)
  })

  test('an answer that is too long is a failure of that sample', async () => {
    expect(
      kindOf(await answerOf(`for (let i = 0; i < 100; i++) console.log('\\u0001'.repeat(4000)); return 1`)),
    ).toBe('too-large')
  })
})

describe('a call cannot tamper with the next one', () => {
  const tampered = (
    [
      ['a module variable', 'count++; return count'],
      ['a cache', `cache.set(cache.size, 'x'.repeat(1000)); return cache.size`],
      ['a buffer of zeros', 'return ++zeros[zeros.length - 1]'],
      ['a global', 'globalThis.seen = (globalThis.seen ?? 0) + 1; return seen'],
      [
        'JSON',
        'const r = JSON.parse("1"); JSON.parse = () => ({ completion: 7 }); JSON.stringify = () => "{}"; return r',
      ],
      [
        'Array.prototype',
        `const r = [].hacked ?? 1; Array.prototype.hacked = 2; Array.prototype.push = () => 0; return r`,
      ],
      [
        'Object.prototype',
        `const r = ({}).toJSON ? 2 : 1; Object.prototype.toJSON = () => '{"value":9}'; return r`,
      ],
      [
        'String.prototype',
        `const r = 'a'.slice(0) === 'a' ? 1 : 2; String.prototype.slice = () => 'evil'; return r`,
      ],
      [
        'Promise.prototype',
        'const r = Promise.evil ?? 1; Promise.evil = 2; Promise.prototype.then = null; return r',
      ],
      ['Math', 'const r = Math.max(1, 0); Math.max = () => 5; Math.random = () => 5; return r'],
      [
        'the sample',
        `const r = s.row.answer === '4' ? 1 : 2; s.row.answer = 'x'; s.log.column = null; return r`,
      ],
      [
        'everything at once',
        `const r = globalThis.Map === undefined ? 2 : 1
       for (const k of Reflect.ownKeys(globalThis)) { try { delete globalThis[k] } catch {} }
       return r`,
      ],
      [
        'a pending job',
        `const r = globalThis.late ?? 1; Promise.resolve().then(() => { globalThis.late = 2 }); return r`,
      ],
      [
        'a frozen world',
        `const r = Object.isFrozen(Object.prototype) ? 2 : 1; Object.freeze(Object.prototype); return r`,
      ],
      [
        'random numbers',
        `const r = Math.random(); for (let i = 0; i < 7; i++) Math.random(); return r < 1 ? (seen0 ??= r) && 1 : 2`,
      ],
    ] as const
  ).map(([name, body]): Case => [name, body, 'value 1'])

  testBodies(
    tampered,
    async (body, kind, sandbox) => {
      const inputs = Array.from({ length: 70 }, () => sample)
      expect((await sandbox.score(inputs, body)).map(kindOf)).toEqual(inputs.map(() => kind))
    },
    { top: 'let count = 0; let seen0; const cache = new Map(); const zeros = new Uint8Array(3e5)' },
  )

  test('nor can one that fails in the worst ways', async () => {
    await using sandbox = await openJs(
      `
      let calls = 0
      const evil = {
        loop() { for (;;) {} },
        memory() { const a = []; for (;;) a.push(new Uint8Array(1e6), a.slice()) },
        stack() { const f = () => f(); f() },
        thrown() { throw new Proxy({}, {}) },
        freed() { const m = new Map(); for (let i = 0; i < 1e4; i++) m.set(i, [i]); for (let i = 0; i < 1e4; i += 2) m.delete(i); return 0 },
      }
      export default ({ completion, prompt }) => { calls++; return evil[completion]?.() ?? calls + prompt.length / 1e6 }`,
      { ...shortLimits, callMs: 250 },
    )
    const acts = ['loop', 'x', 'memory', 'x', 'stack', 'x', 'thrown', 'x', 'freed', 'x']
    const inputs = Array.from({ length: 20 }, (_, i) => ({
      ...sample,
      prompt: 'p'.repeat(i * 100),
      completion: acts[i % acts.length] ?? 'x',
    }))
    const answers = await sandbox.score(inputs, 'default')
    inputs.forEach(({ completion, prompt }, i) => {
      if (completion === 'x') expect(answers[i]).toMatchObject({ value: 1 + prompt.length / 1e6 })
    })
    expect(answers.slice(0, 10).map(kindOf)).toEqual([
      'timeout',
      'value 1.0001',
      'memory',
      'value 1.0003',
      'stack',
      'value 1.0005',
      'exception',
      'value 1.0007',
      'value 0',
      'value 1.0009',
    ])
  })

  test('code that spoils its world while it loads spoils only its own answers', async () => {
    await using sandbox = await openJs(`
      JSON.stringify = () => '{"value":1e999}'
      Object.prototype.then = function (yes) { yes(3) }
      Array.prototype[Symbol.iterator] = null
      String.prototype.slice = () => { throw 1 }
      export default () => 0.25`)
    const [answer] = await sandbox.score([sample], 'default')
    expect(kindOf(answer)).toBe('value 0.25')
  })
})
