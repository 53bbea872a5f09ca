/**
 * The effect of quantising the base: the same tokens scored with exact and with quantised matrices. The exact weights
 * are read from the model's own files, so that even a 16-bit model needs no f32 copy.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import type { Device } from '#shared/device.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import {
  isHalfPrecision,
  roundedPrecisions,
  type RoundedPrecision,
  type PrecisionEffect,
} from '#shared/precision.ts'
import { randomStream } from '#shared/random.ts'
import {
  blocksName,
  halfName,
  rowWeight,
  linearWeights,
  rowScalesName,
  rowsName,
  scalesName,
} from '#engine/models/blocks.ts'
import { headWeightName, type ModelSource } from '#engine/models/source.ts'
import { type Completion, type TokenSequence, unfiltered } from '#engine/policy.ts'
import { int8Form } from '#engine/runtime/device.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { asPolicySource, exactBeside } from '#host/models/baseCache.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { elementCount } from '#host/files/safetensors.ts'
import { isJsonObject, readJsonObject } from '#host/files/strictJson.ts'
import { weightsFolder } from '#host/models/weightCache.ts'
import { noAdapter } from '#host/models/openModel.ts'

export interface PrecisionCheck {
  readonly model: ModelFolder
  readonly tokenizer: Pick<Tokenizer, 'encode'>
  readonly precision: RoundedPrecision
  /** null: texts of several kinds that come with the program. */
  readonly texts: readonly string[] | null
  readonly device: Device
  readonly cacheDirectory: string
}

/** Tokens of a text that count, of its beginning that is completed, and of the completion. */
const LENGTHS = { text: 128, prompt: 12, completion: 32 }
const SEED = 42

/**
 * Measures it; takes a few passes over a thousand tokens. The result on the usual texts is kept beside the rounded
 * weights. Errors: as opening a model; AppError 'data/invalid' where no text has two tokens.
 */
export async function checkPrecision(check: PrecisionCheck): Promise<PrecisionEffect> {
  const { model, precision, texts, cacheDirectory, device } = check
  const precisions = { base: precision, rollout: 'f32', int8Form: int8Form(device) } as const
  const rounded = await asPolicySource(model, precisions, cacheDirectory)
  const name = effectName(check, rowWeight(rounded, headWeightName(model.config)) !== null)
  const kept = texts === null ? path.join(weightsFolder(rounded) ?? '', name) : null
  const known = kept === null ? null : readKept(kept)
  if (known !== null) return known
  const effect = await measure(check, rounded)
  if (kept !== null) writeFileAtomic(kept, `${JSON.stringify(effect)}\n`)
  return effect
}

/** Rounded numbers are the same everywhere, but not what rollouts read of them; products in 16 bits are the device's. */
function effectName({ precision, device }: PrecisionCheck, hasRows: boolean): string {
  if (isHalfPrecision(precision)) return `effect-${precision}-${device.kind}.json`
  const form = precision === 'int8' ? `-with-head-${int8Form(device)}` : ''
  return `effect-${precision}${form}${hasRows ? '-rows' : ''}.json`
}

const number = z.number()
const effectSchema = z.strictObject({
  precision: z.enum(roundedPrecisions),
  tokens: number,
  loss: number,
  mean: number,
  largest: number,
  divergence: number,
  samplerGap: number,
  exactBytes: number,
  roundedBytes: number,
})

/** null where nothing was kept, or something else. */
function readKept(file: string): PrecisionEffect | null {
  if (!existsSync(file)) return null
  try {
    const document = readJsonObject(file, 'model/invalid')
    return isJsonObject(document) ? (effectSchema.safeParse(document).data ?? null) : null
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

async function measure(check: PrecisionCheck, rounded: ModelSource): Promise<PrecisionEffect> {
  const { model, precision, device, cacheDirectory } = check
  const texts = textSequences(check)
  const own = await ownSide(rounded, device, texts)
  const exact = await exactBeside(model, precision, cacheDirectory, int8Form(device))
  using policy = await open(exact, device)
  const exactTexts = await policy.score(texts, scoring)
  const exactOwn = await policy.score(own.sequences, scoring)
  const onTexts = differences(exactTexts, own.texts)
  const samples = own.completions.map(({ logprobs }, row) => ({
    sampled: logprobs,
    learned: tail(own.scored[row], logprobs.length),
    exact: tail(exactOwn[row], logprobs.length),
  }))
  return {
    precision,
    tokens: onTexts.length,
    loss: meanOf(onTexts),
    mean: meanOf(onTexts.map(Math.abs)),
    largest: onTexts.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0),
    divergence: meanOf(
      samples.flatMap(({ learned, exact: other }) => learned.map((own, at) => k3((other[at] ?? 0) - own))),
    ),
    samplerGap: meanOf(
      samples.flatMap(({ sampled, learned }) => learned.map((own, at) => Math.abs(own - (sampled[at] ?? 0)))),
    ),
    ...baseBytes(rounded, precision),
  }
}

const scoring = { role: 'base', temperature: 1 } as const

/** Collects all answers of the rounded model; its sessions are closed afterwards. */
async function ownSide(source: ModelSource, device: Device, texts: readonly TokenSequence[]) {
  using policy = await open(source, device)
  const completions = await completionsOf(policy, texts)
  const sequences = completions.map(({ request, ids }) =>
    wholeSequence([...promptOf(texts[request]), ...ids]),
  )
  return {
    completions,
    sequences,
    texts: await policy.score(texts, scoring),
    scored: await policy.score(sequences, scoring),
  }
}

const open = (source: ModelSource, device: Device): Promise<OrtPolicy> =>
  createOrtPolicy({
    source,
    device,
    lora: noAdapter,
    loraSeed: 0,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: sampleTexts.length,
  })

function textSequences({ model, tokenizer, texts }: PrecisionCheck): TokenSequence[] {
  const limit = Math.min(LENGTHS.text, model.config.contextLength)
  const sequences = (texts ?? sampleTexts)
    .map((text) => [...tokenizer.encode(text, { addSpecialTokens: true })].slice(0, limit))
    .filter((ids) => ids.length >= 2)
    .map(wholeSequence)
  if (sequences.length > 0) return sequences
  throw invalidData('None of the texts has at least two tokens, so there is nothing to predict.')
}

const wholeSequence = (ids: readonly number[]): TokenSequence => ({
  ids: Int32Array.from(ids),
  actionMask: new Uint8Array(ids.length - 1).fill(1),
})

const promptOf = (text: TokenSequence | undefined): Int32Array =>
  text?.ids.subarray(0, Math.min(LENGTHS.prompt, text.ids.length - 1)) ?? new Int32Array()

async function completionsOf(policy: OrtPolicy, texts: readonly TokenSequence[]): Promise<Completion[]> {
  const requests = texts.map((text, index) => ({
    promptIds: promptOf(text),
    streams: [randomStream(SEED, index)],
  }))
  const longest = Math.max(...requests.map(({ promptIds }) => promptIds.length))
  const maxNewTokens = Math.max(1, Math.min(LENGTHS.completion, policy.contextLength - longest))
  const completions: Completion[] = []
  const options = { role: 'base', sampling: { ...unfiltered, maxNewTokens } } as const
  for await (const completion of policy.generate(requests, options)) completions.push(completion)
  return completions.sort((a, b) => a.request - b.request)
}

interface Scored {
  readonly logprobs: Float64Array
}

/** Returns exact − rounded of every prediction. */
const differences = (exact: readonly Scored[], rounded: readonly Scored[]): number[] =>
  exact.flatMap(({ logprobs }, row) =>
    Array.from(logprobs, (value, at) => value - (rounded[row]?.logprobs[at] ?? NaN)),
  )

const tail = (scored: Scored | undefined, count: number): number[] => [
  ...(scored?.logprobs.subarray(-count) ?? []),
]

/** r − 1 − ln r with r = e^difference, whose mean over own samples is the KL divergence. Schulman 2020, "Approximating KL divergence". */
const k3 = (difference: number): number => Math.expm1(difference) - difference

const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length

function baseBytes({ config, tensors }: ModelSource, precision: RoundedPrecision) {
  const linears = linearWeights(config)
  const exactBytes = linears.reduce((sum, { shape }) => sum + 4 * elementCount(shape), 0)
  const names = ({ name }: { readonly name: string }) => {
    if (isHalfPrecision(precision)) return [halfName(name, precision)]
    const blocks = [blocksName(name, precision), scalesName(name, precision)]
    // Rows beside blocks are for rollouts.
    return tensors.has(blocksName(name, precision)) ? blocks : [rowsName(name), rowScalesName(name)]
  }
  const stored = linears.flatMap(names).map((name) => tensors.get(name))
  return { exactBytes, roundedBytes: stored.reduce((sum, location) => sum + (location?.byteLength ?? 0), 0) }
}

/** Short texts of several kinds that a model can be measured on where none are given. */
const sampleTexts: readonly string[] = [
  'The river had risen in the night. When Anna opened the shutters, the lower meadow was gone, and in its place lay a ' +
    'wide brown lake with the tops of the fence posts standing in two straight lines. Nobody in the house spoke. Her ' +
    'father put on his boots, took the long pole from the wall and went down to see whether the boat was still there.',
  'Photosynthesis turns the energy of light into chemical energy. In plants it takes place in the chloroplasts, where ' +
    'chlorophyll absorbs mostly red and blue light. Water is split, oxygen is set free, and the energy that was won is ' +
    'used to build sugar out of carbon dioxide. Almost all food on Earth comes from this process in the end.',
  'Question: A train leaves at 9:40 and arrives at 13:05. How long is the journey? Answer: From 9:40 to 13:00 there are ' +
    'three hours and twenty minutes. Five more minutes lead to 13:05. The journey takes 3 hours and 25 minutes, which is ' +
    '205 minutes. At an average of 96 kilometres per hour the train covers 328 kilometres.',
  'def median(values):\n    """Middle value of a list, or the mean of the two middle ones."""\n    ordered = ' +
    'sorted(values)\n    count = len(ordered)\n    if count == 0:\n        raise ValueError("no values")\n    half = count ' +
    '// 2\n    if count % 2 == 1:\n        return ordered[half]\n    return (ordered[half - 1] + ordered[half]) / 2\n',
  '– Good morning, what can I do for you? – I bought this lamp here last week, and it flickers. – I am sorry about that. ' +
    'Do you have the receipt with you? – Yes, here it is. – Thank you. I can give you a new one or your money back, ' +
    'whichever you prefer. – A new one, please. – Then let me see whether we have another in green.',
  'Preheat the oven to 200 °C. Peel the potatoes, cut them into thin slices and rub the dish with a clove of garlic. Lay ' +
    'the slices in rings, add salt, pepper and a little nutmeg, and pour the cream over them. Bake for fifty minutes, ' +
    'until the top is golden brown and a knife goes through without effort. Let it rest for five minutes before serving.',
  '{"name": "harbour", "open": true, "berths": [{"id": 1, "length": 12.5, "boat": "Mira"}, {"id": 2, "length": 9.0, ' +
    '"boat": null}, {"id": 3, "length": 15.25, "boat": "Nordlicht"}], "contact": {"phone": "+49 461 555", "hours": ' +
    '"08:00-18:00"}}',
  'The committee met on Tuesday to discuss the new timetable. Several members said that the last bus should leave later ' +
    'on Fridays; others pointed out that drivers were already hard to find. In the end it was agreed to try a later bus ' +
    'for three months and to count the passengers before deciding whether to keep it.',
]
