/** The script of a process that answers one question and ends. Started by question.ts. */
import { keepPrivate } from '#host/files/permissions.ts'
import { openHostChannel, watchThisProcess } from '#host/processes/hostChannel.ts'
import { packError } from '#host/processes/messages.ts'
import type { FromQuestion, Question, Answers, Candidate } from '#host/jobs/question.ts'
import { judgeFunction } from '#shared/config/judge.ts'
import { AppError } from '#shared/errors.ts'
import { defaultThreads, physicalCores } from '#engine/processor.ts'
import { availableDevices, defaultDevice } from '#engine/runtime/device.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import { generatedTokens } from '#rl/rollout/trajectoryRewards.ts'
import { encodePrompt, type Prompt } from '#rl/rollout/prompts.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { RunJudges } from '#host/judges/runJudges.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { answerRows } from './answering.ts'
import { calibrate } from './calibrating.ts'
import { evaluate } from './evaluating.ts'
import { tryWorkflow } from './tryingWorkflow.ts'
import { complete, completeEach, openText } from '#host/models/completing.ts'
import { exportCheckpoint } from '#host/export/exporting.ts'
import { measureSpeed, measureThroughput } from '#host/checks/deviceSpeed.ts'
import { chooseDevice, openModel, type DeviceRequest, type OpenedModel } from '#host/models/openModel.ts'
import { checkPrecision } from '#host/checks/precisionCheck.ts'
import { runSelftest } from '#host/checks/selftest.ts'
import { openGroups } from './sideBySide.ts'

keepPrivate()
watchThisProcess()
const host = openHostChannel<Question, FromQuestion>()

// A Ctrl-C reaches every process of the terminal; whoever asked says when it is enough.
process.on('SIGINT', () => {})
host.onLost(() => process.exit())
host.listen((question) => void serve(question))

async function serve(question: Question): Promise<void> {
  try {
    await answerQuestion(question, (item) => host.report({ type: 'item', item }))
    await host.report({ type: 'done' })
  } catch (error) {
    await host.report({ type: 'failed', error: packError(error) })
  }
  process.exit()
}

// Answers to questions (question.ts), in the process that has ONNX Runtime.

type Asked<Type extends Question['type']> = Question & { readonly type: Type }
type Say<Type extends Question['type']> = (item: Answers[Type]) => Promise<void>

const maxRows = 64

/** Errors: those of the models, of the data and of the runtime. */
function answerQuestion(question: Question, say: Say<Question['type']>): Promise<void> {
  // Each answers its own kind of question, which the table's type says and an index cannot.
  const answer = answers[question.type] as (question: Question, say: Say<Question['type']>) => Promise<void>
  return answer(question, say)
}

const answers: {
  readonly [Type in Question['type']]: (asked: Asked<Type>, say: Say<Type>) => Promise<void>
} = {
  devices: async (_, say) =>
    say({
      devices: await availableDevices(),
      physicalCores: physicalCores(),
      defaultThreads: defaultThreads(),
    }),
  async selftest({ full, place }, say) {
    const device = await chooseDevice({ ...place, threads: null })
    for await (const finding of runSelftest({ device, full })) await say(finding)
  },
  async 'measure-device'({ place }, say) {
    const device = await chooseDevice({ ...place, threads: null })
    for await (const news of measureSpeed(device)) await say(news)
  },
  async 'measure-throughput'({ place, precisions }, say) {
    const device = await chooseDevice({ ...place, threads: null })
    for await (const news of measureThroughput(device, precisions)) await say(news)
  },
  complete: completeSideBySide,
  'complete-rows': completeRows,
  'check-precision': checkPrecisions,
  evaluate,
  calibrate,
  export: exportAndTell,
  'write-project': async ({ request }, say) => {
    // Few questions need it, and what it loads is a sixth of this process's code.
    const { writeProject } = await import('#host/exchange/project/project.ts')
    await say(await writeProject(request))
  },
  'score-text': scoreText,
  judge: judgeInputs,
  'answer-rows': answerRows,
  'try-workflow': tryWorkflow,
}

async function scoreText(
  { config, runDirectory, cacheDirectory, consents, input }: Asked<'score-text'>,
  say: Say<'score-text'>,
): Promise<void> {
  await using judges = new RunJudges({ folder: runDirectory, isReadOnly: true, cacheDirectory, consents })
  await using rewards = await resolveRewards(config, runDirectory, { consents, openJudge: judges.open })
  const [reward] = await scoreRewards(rewards.specs, [input], 'null')
  if (reward === undefined) throw new Error('Expected a reward, got none.')
  await say(reward)
}

/** So many completions are judged together. */
const judgedAtOnce = 16

async function judgeInputs(
  { settings, inputs, cacheDirectory, consents }: Asked<'judge'>,
  say: Say<'judge'>,
): Promise<void> {
  await using judges = new RunJudges({ folder: null, cacheDirectory, consents })
  const judge = judges.open(judgeFunction, settings)
  for (let from = 0; from < inputs.length; from += judgedAtOnce) {
    const began = performance.now()
    const answers = await judge.score(inputs.slice(from, from + judgedAtOnce))
    await say({ from, answers, seconds: (performance.now() - began) / 1000 })
  }
}

async function exportAndTell({ request }: Asked<'export'>, say: Say<'export'>): Promise<void> {
  const result = await exportCheckpoint(request, (progress) => void say({ progress }))
  await say({ result })
}

async function completeSideBySide(question: Asked<'complete'>, say: Say<'complete'>): Promise<void> {
  const device: DeviceRequest = question.device ?? { kind: null, threads: null }
  const request = { ...question, device, maxRows: Math.min(question.samples, maxRows) }
  for await (const opened of openGroups(request)) {
    using group = opened
    for (const [candidate, model] of group.members) await completeOne(model, { ...question, candidate }, say)
  }
}

/** Text goes out as it is generated, unless a stop text might have to be taken back. */
async function completeOne(
  model: OpenedModel,
  question: Asked<'complete'> & { readonly candidate: number },
  say: Say<'complete'>,
): Promise<void> {
  const { candidate, prompt, samples, seed, sampling } = question
  const isStreamed = sampling.stopStrings.length === 0
  const tokens = new Map<number, number>()
  const running = { candidate, stopReason: null, tokensPerSecond: null }
  const onText = (sample: number, text: string) => {
    tokens.set(sample, (tokens.get(sample) ?? 0) + 1)
    if (text !== '') void say({ ...running, sample, text, tokens: tokens.get(sample) ?? 0 })
  }
  const asked = { question: prompt, samples, seed, sampling, ...(isStreamed ? { onText } : {}) }
  const startedAt = performance.now()
  let generated = 0
  for await (const { sample, text, ids, stopReason } of complete(model, openText(model.folder), asked)) {
    generated += ids.length
    const tokensPerSecond = (1000 * generated) / Math.max(1, performance.now() - startedAt)
    const rest = isStreamed ? '' : text
    await say({ candidate, sample, text: rest, stopReason, tokens: ids.length, tokensPerSecond })
  }
}

async function completeRows(question: Asked<'complete-rows'>, say: Say<'complete-rows'>): Promise<void> {
  const { candidate, rows, form, seed, sampling, withTokens = false } = question
  const device = { kind: null, threads: null }
  using model = await open(candidate, { ...question, device, rows: rows.length })
  const text = openText(model.folder)
  const prompts: Prompt[] = []
  for (const [row, columns] of rows.entries()) {
    const prompt = promptOrProblem(() => encodePrompt(columns, row, { form, ...text }))
    if (typeof prompt === 'string') await say({ row, problem: prompt })
    else if (prompt.ids.length < model.policy.contextLength) prompts.push(prompt)
    else
      await say({ row, problem: `Its prompt of ${prompt.ids.length} tokens leaves no room to complete it.` })
  }
  if (prompts.length === 0) return
  const request = { promptIds: prompts.map(({ ids }) => ids), seed, sampling }
  for await (const completion of completeEach(model, text, request)) {
    const prompt = prompts[completion.prompt]
    if (prompt === undefined) continue
    const tokens = withTokens ? generatedTokens({ ...completion, turns: null }, text.tokenizer) : null
    await say({ row: prompt.row, prompt: prompt.text, completion: completion.text, tokens })
  }
}

async function checkPrecisions(
  { directory, precisions, cacheDirectory }: Asked<'check-precision'>,
  say: Say<'check-precision'>,
): Promise<void> {
  const model = openModelFolder(directory)
  const { tokenizer } = openText(model)
  const device = defaultDevice()
  for (const precision of precisions) {
    await say(await checkPrecision({ model, tokenizer, precision, texts: null, device, cacheDirectory }))
  }
}

function promptOrProblem(encode: () => Prompt): Prompt | string {
  try {
    return encode()
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

interface Opening {
  readonly device: DeviceRequest
  readonly rows: number
  readonly cacheDirectory: string
}

const open = (candidate: Candidate, { device, rows, cacheDirectory }: Opening): Promise<OpenedModel> =>
  openModel({
    ...candidate,
    device,
    precision: 'f32',
    base: null,
    maxRows: Math.min(rows, maxRows),
    cacheDirectory,
  })
