/** Training scripts: the loop of the AReaL example is that of the built-in algorithm, and a run of one resumes exactly. */
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { allowScript, loadScript } from '#host/training/scriptFile.ts'
import { resume, train, type TrainingScript } from '../../src/library/turnwise.ts'
import { createWorkplace, linesOf } from '../cli/turnwise.ts'
import { historyOf } from '../host/runs/runFixture.ts'
import { isWhole, wholeTitle } from '../sweeps.ts'

const home = mkdtempSync(path.join(tmpdir(), 'turnwise-script-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const consents = consentsFile(home)
const examples = path.join(import.meta.dirname, '../../examples')

const small = {
  rollout: { promptsPerStep: 8, groupSize: 2, maxNewTokens: 8 },
  evaluation: { every: 0, rows: 4 },
  checkpoints: { every: 2, keepLast: 4 },
  device: { threads: 1 },
  steps: 4,
}

async function trained(run: RunFolder, resumeFrom: string | null = null): Promise<void> {
  const request = {
    runDirectory: run.directory,
    cacheDirectory: path.join(home, 'cache'),
    resumeFrom,
    consents,
  }
  for await (const _ of runTraining(request, createControl()));
}

const at = (run: RunFolder, step: number) =>
  path.join(runPaths(run.directory).checkpoints, `step-00000${String(step)}`)
const metricsOf = (run: RunFolder) =>
  historyOf(run, 'step').map(({ metrics }) => metrics as Readonly<Record<string, number>>)

async function exampleConfig(changes: object) {
  const { config, reference, real } = await loadScript(path.join(examples, 'gsm8k.ts'))
  const parsed = parseRunConfig({ ...(config as object), ...small, ...changes })
  return { config: withAbsolutePaths(parsed, examples, home), reference: { ...reference, real } }
}

test.runIf(isWhole)(
  wholeTitle('the example learns what the built-in ReMax learns, and resumes exactly'),
  async () => {
    const { config, reference } = await exampleConfig({})
    allowScript(reference, consents)
    const run = createRunFolder(home, config, { script: reference })
    await trained(run)
    const { config: plain } = await exampleConfig({ algorithm: { id: 'remax' } })
    const builtIn = createRunFolder(home, plain)
    await trained(builtIn)
    expect(loadCheckpoint(at(run, 4)).actor).toEqual(loadCheckpoint(at(builtIn, 4)).actor)
    expect(metricsOf(run).map(({ reward }) => reward)).toEqual(metricsOf(builtIn).map(({ reward }) => reward))
    const [first] = metricsOf(run)
    expect(first!['logged/greedy/reward/avg']).toBeCloseTo(
      metricsOf(builtIn)[0]!['reward/greedy_baseline']!,
      12,
    )
    expect(first!['logged/timeperf/rollout']).toBeGreaterThan(0)

    const straight = loadCheckpoint(at(run, 4))
    const { script } = loadCheckpoint(at(run, 2)).trainer
    expect(script).toEqual({
      best: Math.max(
        ...metricsOf(run)
          .slice(0, 2)
          .map(({ reward }) => reward!),
      ),
    })
    await trained(run, at(run, 2))
    expect(loadCheckpoint(at(run, 4)).actor).toEqual(straight.actor)
    expect(loadCheckpoint(at(run, 4)).trainer).toEqual(straight.trainer)
  },
)

const rewarding = 'from the command line a script imports turnwise, ends its run and gives rewards of its own'
test.runIf(isWhole)(wholeTitle(rewarding), async () => {
  using place = createWorkplace()
  const { config } = await exampleConfig({ algorithm: { id: 'grpo' } })
  const file = path.join(home, 'short.mjs')
  writeFileSync(
    file,
    `import { withReward } from 'turnwise'
     export const config = ${JSON.stringify(config)}
     export default async function* ({ prompts, rollout, learn, stats, evaluate }) {
       for (let step = 1; step <= 2; step++) {
         const batch = await rollout(prompts(4), { samples: 2 })
         const own = batch.map((each, i) => withReward(each, i % 2))
         const { grad_norm } = await learn(own)
         stats.scalar({ learned: grad_norm, nothing: NaN })
         await stats.scope('outer', () => stats.masked({ x: [1, 5, 3] }, [1, 0, 1]))
         yield { step, reward: await evaluate() }
       }
     }`,
  )
  const { status, stdout } = await place.start('run', file, '--json').finished
  expect(status).toBe(0)
  const events = linesOf(stdout) as Readonly<Record<string, unknown>>[]
  const steps = events.filter(({ type }) => type === 'step')
  expect(steps).toHaveLength(2)
  const [first] = steps.map(({ metrics }) => metrics as Readonly<Record<string, number>>)
  expect(first).toMatchObject({ 'logged/outer/x/avg': 2, 'logged/outer/x/min': 1, 'logged/outer/x/max': 3 })
  expect(first).not.toHaveProperty('logged/nothing')
  expect(first!['logged/learned']).toBeGreaterThan(0)
  expect(events.filter(({ type }) => type === 'status').at(-1)).toMatchObject({ phase: 'finished' })
  const { directory } = events.find(({ type }) => type === 'run') as unknown as { directory: string }
  const { trainer } = loadCheckpoint(path.join(runPaths(directory).checkpoints, 'step-000002'))
  expect(trainer).toMatchObject({
    script: { step: 2, reward: expect.any(Number) as number },
    promptsDrawn: 8,
  })
})

test('the folder of a run starts no script: a person did, from this data directory, with this content', async () => {
  const { config } = await exampleConfig({ algorithm: { id: 'grpo' }, steps: 3 })
  const mark = path.join(home, 'mark')
  const file = path.join(home, 'received.mjs')
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs'
     writeFileSync(${JSON.stringify(mark)}, '')
     export const config = ${JSON.stringify(config)}
     export default async function* ({ prompts, rollout, learn }) {
       for (let step = 1; step <= 2; step++) {
         await learn(await rollout(prompts()))
         yield { step }
       }
     }`,
  )
  const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex')
  const sent = createRunFolder(home, config, { script: { file, sha256 } })
  await expect(trained(sent)).rejects.toMatchObject({
    message: expect.stringContaining(`${file} is a training script`) as string,
    command: `turnwise resume ${sent.id} --trust-script`,
  })
  expect(existsSync(mark)).toBe(false)

  using place = createWorkplace()
  const answered = async (...words: string[]) => {
    rmSync(mark, { force: true })
    const { status, stdout, stderr } = await place.start(...words, '--json').finished
    const begun = linesOf(stdout).find((event) => (event as { type: string }).type === 'run')
    return { status, stderr, ran: existsSync(mark), id: (begun as { id?: string } | undefined)?.id ?? '' }
  }
  const run = await answered('run', file)
  expect(run).toMatchObject({ status: 0, ran: true })
  expect(await answered('fork', run.id, '--set', 'seed=2')).toMatchObject({ status: 0, ran: true })
  appendFileSync(file, '\n// another content')
  const refused = await answered('fork', run.id, '--set', 'seed=3')
  expect(refused).toMatchObject({ ran: false })
  expect(refused.stderr).toContain(`turnwise resume ${refused.id} --trust-script`)
  expect(await answered('resume', refused.id, '--trust-script')).toMatchObject({ status: 0, ran: true })
})

test('a prompt that is rolled out again and again gets other samples each time', async () => {
  // So hot that no two answers are the same by chance.
  const rollout = { ...small.rollout, temperature: 8 }
  const { config } = await exampleConfig({ algorithm: { id: 'grpo' }, rollout, steps: 1 })
  const seen: string[] = []
  const script: TrainingScript = async function* (run) {
    const batch = run.prompts(4)
    for (const samples of [3, 2, 3, 2])
      for (const { ids, samplerLogprobs } of await run.rollout(batch, { samples }))
        seen.push(`${ids.join(' ')} ${[...(samplerLogprobs ?? [])].join(' ')}`)
    yield
  }
  for await (const _ of train(config, { dataDirectory: home, script }));
  expect(seen).toHaveLength(40)
  expect(new Set(seen).size).toBe(40)
})

const own = 'a program that stopped its own run goes on with it, and nothing else does'
test.runIf(isWhole)(wholeTitle(own), async () => {
  const { config } = await exampleConfig({ algorithm: { id: 'grpo' } })
  const begun: unknown[] = []
  const script: TrainingScript = async function* ({ prompts, rollout, learn }, state = 0) {
    begun.push(state)
    for (let steps = state as number; ;) {
      await learn(await rollout(prompts()))
      yield ++steps
    }
  }
  const lastOf = async (events: ReturnType<typeof train>, stop?: AbortController) => {
    let directory = ''
    for await (const event of events) {
      if (event.type === 'step' && event.step === 3) stop?.abort()
      if (event.type === 'checkpoint-saved') directory = event.directory
    }
    return directory
  }
  const here = { dataDirectory: home, script }
  const straight = await lastOf(train(config, here))
  const stop = new AbortController()
  const stopped = await lastOf(train(config, { ...here, signal: stop.signal }), stop)
  expect(path.basename(stopped)).toBe('step-000003')
  const run = path.dirname(path.dirname(stopped))
  await expect(lastOf(resume(run, { dataDirectory: home }))).rejects.toThrow(/a function of the program/)
  const resumed = await lastOf(resume(run, here))
  expect(begun).toEqual([0, 0, 3])
  expect(loadCheckpoint(resumed).actor).toEqual(loadCheckpoint(straight).actor)
  expect(loadCheckpoint(resumed).trainer).toEqual(loadCheckpoint(straight).trainer)
})

test('what is no script, learns twice or throws is a sentence', async () => {
  const file = path.join(home, 'wrong.mjs')
  writeFileSync(file, 'export default 1')
  await expect(loadScript(file)).rejects.toThrow(/is not a training script/)
  await expect(loadScript(path.join(home, 'missing.mjs'))).rejects.toMatchObject({ code: 'file/unreadable' })
  const { config } = await exampleConfig({ algorithm: { id: 'grpo' } })
  const outcome = async (script: TrainingScript) => {
    for await (const _ of train(config, { dataDirectory: home, script }));
  }
  await expect(
    outcome(async function* ({ prompts, rollout, learn }) {
      const batch = await rollout(prompts(4))
      await Promise.all([learn(batch), learn(batch)])
      yield
    }),
  ).rejects.toThrow(/A step learns once/)
  await expect(
    outcome(async function* () {
      await Promise.resolve()
      throw new Error('no reason')
    }),
  ).rejects.toThrow(/no reason/)
})

test('what runs is what was looked at, whatever becomes of the file meanwhile', async () => {
  const file = path.join(home, 'exchanged.mjs')
  const script = (word: string) =>
    `export const config = { word: ${JSON.stringify(word)} }\nexport async function* train() {}\n`
  writeFileSync(file, script('looked at'))
  const loading = loadScript(file)
  writeFileSync(file, script('exchanged'))
  expect((await loading).config).toEqual({ word: 'looked at' })
  expect((await loadScript(file)).config).toEqual({ word: 'exchanged' })
})

test('what it imports lies beside the file that was looked at, wherever a link is turned meanwhile', async () => {
  const scriptIn = (folder: string): string => {
    mkdirSync(path.join(home, folder))
    const file = path.join(home, folder, 'script.mjs')
    writeFileSync(
      file,
      "import { word } from './word.mjs'\nexport const config = { word }\nexport async function* train() {}\n",
    )
    writeFileSync(path.join(home, folder, 'word.mjs'), `export const word = '${folder}'\n`)
    return file
  }
  const [mine, theirs] = [scriptIn('mine'), scriptIn('theirs')]
  const link = path.join(home, 'link.mjs')
  symlinkSync(mine, link)
  const loading = loadScript(link)
  rmSync(link)
  symlinkSync(theirs, link)
  expect(await loading).toMatchObject({ config: { word: 'mine' }, reference: { file: link }, real: mine })
})
