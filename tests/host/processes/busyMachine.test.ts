/**
 * Limits count work: on a machine that is busy, code that uses half of what it may gets the same answer as on an idle one, and code
 * that uses twice as much is refused in the same words.
 */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { TextProcesses, type TextQuestion } from '#host/models/textQuestion.ts'
import { Machine } from '#host/sandbox/machine.ts'
import { openLoss, traceInto } from '#host/code/resolveAlgorithms.ts'
import { openSandbox } from '#host/sandbox/sandbox.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import { startBusyLoops } from '../../busyLoops.ts'
import { isLong, isWhole, wholeTitle } from '../../sweeps.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { consentsTo, hasPython, interpreter } from '../python/interpreter.ts'
import { only, sample } from '../sandbox/opened.ts'

const folder = temporaryFolder()
const here = hasPython()

/** What happens on a busy machine: an answer, or the words of a refusal. In the long run it is held against the same without loops. */
async function whileBusy<Answer>(ask: () => Promise<Answer>): Promise<Answer | string> {
  const asked = () =>
    ask().catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
  const idle = isLong ? [await asked()] : []
  using _ = startBusyLoops()
  const busy = await asked()
  for (const answer of idle) expect(answer).toEqual(busy)
  return busy
}

const limits = { callMs: 500, memoryMb: 16 }
const source = (code: string) => ({ code, language: 'js' }) as const
const opened = (code: string) => openSandbox(source(code), limits)

/** Turns of this loop that take the sandbox a second of its processor. It has no operators: those of a loss take longer. */
let perSecond = 0
const loop = (turns: number) =>
  `const list = new Array(100).fill(2); new Array(${Math.round(turns)}).fill(0).forEach(() => list.forEach(Number.isInteger));`
const work = (share: number) => loop((perSecond * share * limits.callMs) / 1000)

const looped = () => `export default () => { ${loop(2e4)} return 0 }`

beforeAll(async () => {
  const inside = { memoryMb: 16, answerCharacters: 1_000, loadMs: 2_000 }
  const machine = await Machine.load(looped(), inside, null)
  const run = () =>
    machine.call({ target: 'default', input: JSON.stringify(sample), seed: 1, callMs: 60_000 })
  for (let i = 0; i < 3; i++) run()
  const before = process.threadCpuUsage()
  run()
  const { user, system } = process.threadCpuUsage(before)
  perSecond = (1e6 * 2e4) / (user + system)
})

/** QuickJS itself is compiled anew where it has run for a while, so the process of a sandbox is as fast as the one above only then. */
async function warm() {
  await using sandbox = await openSandbox(source(looped()), { callMs: 60_000, batchMs: 60_000 })
  await sandbox.score([sample, sample, sample], 'default')
}

const stopped = 'Stopped after 500 ms of processor time.'

test('a reward', async () => {
  await warm()
  const score = async (body: string) => {
    await using sandbox = await opened(`export default () => { ${body} return 0.5 }`)
    const answer = only(await sandbox.score([sample], 'default'))
    return 'failure' in answer ? answer.failure.message : answer.value
  }
  expect(await whileBusy(() => score(work(0.5)))).toBe(0.5)
  expect(await whileBusy(() => score(work(2)))).toBe(stopped)
  // A search that never looks at the clock: the process is killed in the end, which attacks.test.ts waits for in every run.
  if (!isLong) return
  expect(await whileBusy(() => score(`'a'.repeat(6e6).indexOf('a'.repeat(3e6) + 'b');`))).toBe(stopped)
})

test('a batch loses those that take too long, and no others', async () => {
  const search = `'a'.repeat(6e6).indexOf('a'.repeat(3e6) + 'b')`
  const answers = await whileBusy(async () => {
    await using sandbox = await openSandbox(
      source(
        `export default ({ completion }) => { while (completion === 'endless'); return completion === 'evil' ? ${search} : 0.5 }`,
      ),
      { callMs: 100 },
    )
    const completions: Record<number, string> = {
      1: 'endless',
      31: isLong ? 'evil' : 'endless',
      61: 'endless',
    }
    const inputs = Array.from({ length: 64 }, (_, i) => ({ ...sample, completion: completions[i] ?? 'fine' }))
    return (await sandbox.score(inputs, 'default')).map((answer) => 'failure' in answer)
  })
  expect(answers).toEqual(Array.from({ length: 64 }, (_, i) => i % 30 === 1))
})

test.runIf(isWhole)(wholeTitle('a loss'), async () => {
  await warm()
  const trace = async (body: string) => {
    const code = `export default defineLoss({ loss({ logp, advantages, mask }) { ${body} return -mean(logp * advantages, mask) } })`
    const loss = await openLoss('mine.js', source(code), (given, own) =>
      openSandbox(given, { ...own, ...limits }),
    )
    await using _ = loss.sandbox
    return (await traceInto(loss, {})).nodes.length
  }
  expect(await whileBusy(() => trace(work(0.5)))).toBe(await trace(''))
  expect(await whileBusy(() => trace(work(2)))).toBe(`The loss mine.js cannot be traced: ${stopped}`)
})

test.runIf(isWhole)(wholeTitle('a workflow'), async () => {
  await warm()
  const play = async (body: string) => {
    await using sandbox = await opened(
      `export default defineWorkflow({ async episode() { ${body} return { ids: [1, 2], actions: [0, 1] } } })`,
    )
    const episode = { row: {}, prompt: { text: 'a', ids: [1] }, environment: null, isEvaluation: false }
    const answer = only(await sandbox.episode([{ ...episode, seed: 1, asked: [], answers: [] }]))
    return 'failure' in answer ? answer.failure.message : 'trajectories' in answer && answer.trajectories
  }
  expect(await whileBusy(() => play(work(0.5)))).toMatchObject([{ ids: [1, 2] }])
  expect(await whileBusy(() => play(work(2)))).toBe(stopped)
})

test.skipIf(!here)('a Python reward (skipped without Python 3.9)', async () => {
  const file = path.join(mkdtempSync(path.join(folder, 'python-')), 'mine.py')
  const code = `import time\ndef busy(completions):\n    start = time.process_time()\n    while time.process_time() - start < float(completions[0]): pass\n    return [0.5]\n`
  writeFileSync(file, code)
  const config = parseRunConfig({
    model: 'm',
    data: { train: 't' },
    rewards: [{ function: file }],
    python: { interpreter, callSeconds: 1 },
  })
  const consents = consentsTo(config, folder)
  const score = async (seconds: number) => {
    const copies = mkdtempSync(path.join(folder, 'run-'))
    await using rewards = await resolveRewards(config, copies, { consents })
    const input = { prompt: '', completion: String(seconds), row: {}, step: 0 }
    const { total, failures } = only(await scoreRewards(rewards.specs, [input], 'null'))
    return total ?? failures.map(({ message }) => message)
  }
  expect(await whileBusy(() => score(0.5))).toBe(0.5)
  expect(await whileBusy(() => score(2))).toEqual([
    'Python was killed because it used up 1 s of processor time.',
  ])
})

const asked = async (question: TextQuestion, workMs?: number) => {
  using texts = new TextProcesses(
    undefined,
    workMs === undefined ? {} : { answer: { workMs, idleMs: 60_000 } },
  )
  return await texts.ask(question)
}

test('a chat template', async () => {
  const directory = mkdtempSync(path.join(folder, 'template-'))
  cpSync('resources/starter', directory, { recursive: true })
  const render = async (turns: number) => {
    const file = path.join(directory, 'tokenizer_config.json')
    const inner = `{% for b in range(${turns}) %}{% endfor %}`
    const template = `{% for a in range(250) %}${inner}{% endfor %}done`
    const settings = JSON.parse(readFileSync(file, 'utf8')) as object
    writeFileSync(file, JSON.stringify({ ...settings, chat_template: template }))
    return asked({ type: 'render-chat', directory, messages: [{ role: 'user', content: 'Why?' }] })
  }
  expect(await whileBusy(() => render(100))).toBe('done')
  expect(await whileBusy(() => render(400))).toMatch(/its loops ran more than 50000 times/)
})

test.runIf(isWhole)(wholeTitle('the largest of tokenizers'), async () => {
  const directory = mkdtempSync(path.join(folder, 'tokenizer-'))
  cpSync('resources/starter', directory, { recursive: true })
  const file = path.join(directory, 'tokenizer.json')
  const json = JSON.parse(readFileSync(file, 'utf8')) as Readonly<{
    model: object
    added_tokens: { content: string }[]
  }>
  const added = json.added_tokens.map(({ content }) => content)
  writeFileSync(
    file,
    JSON.stringify({ ...json, model: { ...json.model, ...largeVocabulary(256_000, added) } }),
  )
  const config = path.join(directory, 'config.json')
  const settings = JSON.parse(readFileSync(config, 'utf8')) as object
  writeFileSync(config, JSON.stringify({ ...settings, vocab_size: 300_000 }))
  const question = { type: 'tokenize', directory, text: 'hello world' } as const
  const tokens = await whileBusy(() => asked(question))
  expect(tokens).toBeInstanceOf(Array)
  expect((tokens as readonly { text: string }[]).map(({ text }) => text).join('')).toBe('hello world')
  expect(await whileBusy(() => asked(question, 400))).toBe(
    `The tokenizer or the chat template of ${directory} was stopped because it used up 0.4 s of processor time.`,
  )
})

/** Letters that stand for bytes in a byte-level vocabulary: printable ones for themselves, others for the rest in order. */
const byteLetters = Array.from({ length: 256 }, (_, byte) => byte)
  .filter((byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173))
  .concat(Array.from({ length: 68 }, (_, i) => 256 + i))
  .map((code) => String.fromCharCode(code))

/** The added tokens, those of bytes, and merges of any two that were there before. */
function largeVocabulary(size: number, added: readonly string[]) {
  const tokens = [...added, ...byteLetters]
  const known = new Set(tokens)
  const merges: string[] = []
  for (let left = added.length; tokens.length < size; left++) {
    for (const right of byteLetters) {
      const token = `${tokens[left] ?? ''}${right}`
      if (tokens.length === size || known.has(token)) continue
      known.add(token)
      tokens.push(token)
      merges.push(`${tokens[left] ?? ''} ${right}`)
    }
  }
  return { vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges }
}
