/** Log-probabilities and adapter gradients of given token sequences. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { type AppError, invalidData, invalidModel } from '#shared/errors.ts'
import type { Heads, TokenSequence } from '#engine/policy.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { peftTensorName } from '#host/adapters/peft.ts'
import { share } from '#host/files/permissions.ts'
import { f32ToWrite, writeSafetensors } from '#host/files/safetensors.ts'
import { makeFolder } from '#host/files/atomic.ts'
import { readJsonObject, type JsonObject } from '#host/files/strictJson.ts'
import { tokenBatches, type OpenedModel } from './openModel.ts'

/** [L−1] per sequence; entry t is the prediction of token t+1; nats. */
export interface Scores {
  /** Log-probability of the token that follows. */
  readonly logprobs: number[][]
  /** Entropy of the distribution over the vocabulary. */
  readonly entropy: number[][]
}

/** Scores every prediction of every sequence. Errors: AppError 'model/invalid' where a score is no number. */
export async function scoreSequences({ policy, role }: OpenedModel, input: SequenceInput): Promise<Scores> {
  const heads = await policy.score(input.sequences.map(wholeSequence), {
    role,
    temperature: input.temperature,
  })
  requireScores(heads)
  return {
    logprobs: heads.map(({ logprobs }) => [...logprobs]),
    entropy: heads.map(({ entropies }) => [...entropies]),
  }
}

/** Refuses scores that are not numbers: a weight that is not a number makes every score one. */
function requireScores(heads: readonly Pick<Heads, 'logprobs'>[]): void {
  const sequence = heads.findIndex(({ logprobs }) => logprobs.some((value) => !Number.isFinite(value)))
  if (sequence === -1) return
  const at = heads[sequence]?.logprobs.findIndex((value) => !Number.isFinite(value)) ?? 0
  throw invalidModel(
    `The log-probability of token ${at + 2} in sequence ${sequence + 1} is ${heads[sequence]?.logprobs[at]}.`,
    'The weights of the model or adapter hold values that are not finite numbers, or its training diverged; get another copy. Nothing was written.',
  )
}

/** Gradient of Σ coefficient · log-probability with respect to every adapter tensor. */
export async function adapterGradients(
  { policy }: OpenedModel,
  {
    sequences,
    coefficients,
    temperature,
  }: SequenceInput & { readonly coefficients: readonly Float64Array[] },
): Promise<NamedTensor[]> {
  const rows = sequences.map((ids, index) => ({
    ...wholeSequence(ids),
    coefficients: coefficients[index] ?? new Float64Array(),
  }))
  policy.discardGradients()
  for (const batch of tokenBatches(rows)) {
    await policy.accumulate(batch, { temperature, entropyGradient: false }, () =>
      batch.map((row) => ({ logprobs: row.coefficients, entropies: null, values: null })),
    )
  }
  return await policy.gradientTensors()
}

/** Sequence in which every prediction counts. */
const wholeSequence = (ids: Int32Array): TokenSequence => ({
  ids,
  actionMask: new Uint8Array(ids.length - 1).fill(1),
})

/** Writes tensors under PEFT's names as `gradients.safetensors`; returns the file's path. */
export async function writeGradients(directory: string, gradients: readonly NamedTensor[]): Promise<string> {
  const isNew = !existsSync(directory)
  makeFolder(directory)
  const file = path.join(directory, 'gradients.safetensors')
  const tensors = gradients.map((tensor) => f32ToWrite({ ...tensor, name: peftTensorName(tensor.name) }))
  await writeSafetensors(file, tensors, { metadata: { format: 'pt' } })
  share(isNew ? directory : file)
  return file
}

/* The input file of score and grad: token sequences, a temperature and, for grad, one loss coefficient per prediction. */

interface SequenceInput {
  /** Sequences of ids, [L] each. */
  readonly sequences: readonly Int32Array[]
  readonly temperature: number
  /** ∂loss/∂log-probability of token t+1 at entry t, [L−1] each; null for score. */
  readonly coefficients: readonly Float64Array[] | null
}

interface SequenceLimits {
  readonly vocabSize: number
  readonly contextLength: number
}

const maxInputBytes = 256 * 1024 * 1024

/** Reads and checks `{"sequences": [[ids…]…], "temperature": 1}`. Errors: AppError 'data/invalid', naming the place. */
export function readScoreInput(file: string, limits: SequenceLimits): SequenceInput {
  const document = readInput(file, ['sequences', 'temperature'])
  return {
    sequences: sequencesOf(document, limits, file),
    temperature: temperatureOf(document, file),
    coefficients: null,
  }
}

/** The same with `"coefficients": [[…]…]`, one number for each prediction. */
export function readGradInput(
  file: string,
  limits: SequenceLimits,
): SequenceInput & { coefficients: Float64Array[] } {
  const document = readInput(file, ['sequences', 'temperature', 'coefficients'])
  const sequences = sequencesOf(document, limits, file)
  return {
    sequences,
    temperature: temperatureOf(document, file),
    coefficients: coefficientsOf(document, sequences, file),
  }
}

function readInput(file: string, known: readonly string[]): JsonObject {
  const document = readJsonObject(file, 'data/invalid', maxInputBytes)
  const unknown = Object.keys(document).find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw invalid(file, `has the unknown key “${unknown}”`, `Known are ${known.join(', ')}.`)
  return document
}

const sequencesOf = (document: JsonObject, limits: SequenceLimits, file: string): Int32Array[] =>
  tokenSequences(rowsOf(document, 'sequences', file), limits, file)

/**
 * Reads sequences of ids that the model knows, no longer than it reads. Errors: AppError 'data/invalid'; `file`: where
 * they are from.
 */
export function tokenSequences(
  rows: readonly (readonly unknown[])[],
  limits: SequenceLimits,
  file: string,
): Int32Array[] {
  if (rows.length === 0) throw invalid(file, 'has no sequences')
  return rows.map((row, index) => {
    if (row.length === 0) throw invalid(file, `has an empty sequence (number ${index + 1})`)
    if (row.length > limits.contextLength) {
      throw invalid(
        file,
        `has a sequence of ${row.length} tokens (number ${index + 1}); the model takes ${limits.contextLength} at most`,
      )
    }
    row.forEach((id, position) => {
      const problem = idProblem(id, limits.vocabSize)
      if (problem !== null)
        throw invalid(file, `has ${problem} in sequence ${index + 1}, position ${position + 1}`)
    })
    return Int32Array.from(row as number[])
  })
}

function idProblem(id: unknown, vocabSize: number): string | null {
  if (typeof id !== 'number' || !Number.isInteger(id))
    return `${JSON.stringify(id)}, which is not a token id,`
  if (id >= 0 && id < vocabSize) return null
  return `the token id ${id}, which is outside the vocabulary (0 to ${vocabSize - 1}),`
}

function temperatureOf(document: JsonObject, file: string): number {
  const temperature = document['temperature'] ?? 1
  if (typeof temperature === 'number' && Number.isFinite(temperature) && temperature > 0) return temperature
  throw invalid(file, `has the temperature ${JSON.stringify(temperature)}; it must be a number above 0`)
}

function coefficientsOf(
  document: JsonObject,
  sequences: readonly Int32Array[],
  file: string,
): Float64Array[] {
  const rows = rowsOf(document, 'coefficients', file)
  if (rows.length !== sequences.length) {
    throw invalid(file, `has ${sequences.length} sequences but ${rows.length} rows of coefficients`)
  }
  return rows.map((row, index) => {
    const wanted = (sequences[index]?.length ?? 1) - 1
    if (row.length !== wanted) {
      throw invalid(
        file,
        `has ${row.length} coefficients for sequence ${index + 1}, which makes ${wanted} predictions`,
        'Entry t belongs to the prediction of token t+1: one less than there are tokens.',
      )
    }
    const wrong = row.findIndex((value) => typeof value !== 'number' || !Number.isFinite(value))
    if (wrong >= 0) {
      throw invalid(
        file,
        `has ${JSON.stringify(row[wrong])} as coefficient ${wrong + 1} of sequence ${index + 1}`,
      )
    }
    return Float64Array.from(row as number[])
  })
}

function rowsOf(document: JsonObject, key: string, file: string): unknown[][] {
  const value = document[key]
  if (Array.isArray(value) && value.every((row) => Array.isArray(row))) return value
  throw invalid(file, `needs “${key}”: a list of lists of numbers`)
}

const invalid = (file: string, problem: string, hint?: string): AppError =>
  invalidData(`${file} ${problem}.`, hint)
