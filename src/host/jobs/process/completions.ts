/** Prompts completed by models as they are: one prompt by several, or each row of a data set by one. */
import { AppError } from '#shared/errors.ts'
import { encodePrompt, type Prompt } from '#rl/rollout/prompts.ts'
import { generatedTokens } from '#rl/rollout/trajectoryRewards.ts'
import { complete, completeEach, openText } from '#host/models/completing.ts'
import type {
  Candidate,
  CompletionInput,
  CompletionPiece,
  RowCompletion,
  RowCompletionInput,
} from '#host/models/completionJobs.ts'
import { openModel, type DeviceRequest, type OpenedModel } from '#host/models/openModel.ts'
import type { Tools } from '#host/processes/job.ts'
import { openGroups } from './sideBySide.ts'

const maxRows = 64

/** Completes one prompt with each candidate. Errors: those of models and of the runtime. */
export async function completeSideBySide(
  input: CompletionInput,
  { say }: Tools<CompletionPiece>,
): Promise<void> {
  const device: DeviceRequest = input.device ?? { kind: null, threads: null }
  const request = { ...input, device, maxRows: Math.min(input.samples, maxRows) }
  for await (const opened of openGroups(request)) {
    using group = opened
    for (const [candidate, model] of group.members) await completeOne(model, { ...input, candidate }, say)
  }
}

/** Text goes out as it is generated, unless a stop text might have to be taken back. */
async function completeOne(
  model: OpenedModel,
  input: CompletionInput & { readonly candidate: number },
  say: Tools<CompletionPiece>['say'],
): Promise<void> {
  const { candidate, prompt, samples, seed, sampling } = input
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

/** Completes each row once. Errors: those of models and of the runtime. */
export async function completeRows(input: RowCompletionInput, { say }: Tools<RowCompletion>): Promise<void> {
  const { candidate, rows, form, seed, sampling, withTokens = false } = input
  const device = { kind: null, threads: null }
  using model = await open(candidate, { ...input, device, rows: rows.length })
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
