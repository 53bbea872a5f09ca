/** A merged model in a GGUF file against base + s·B·A: every matrix, and the tokens of texts. */
import { AppError } from '#shared/errors.ts'
import type { Adapter } from '#host/adapters/peft.ts'
import { type GgufPlace, ggufPlaces } from '#host/gguf/ggufNames.ts'
import { isBlocks, type WrittenType } from '#host/gguf/ggufMix.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { type LoadedTokenizer, loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { exactPieces } from '#host/models/weightCache.ts'
import { computedDeltas, rowElements } from './ggufMerged.ts'
import type { ParityLine } from './exports.ts'
import { type LiveAnswers, parityLine, type ParityPrompts, unitRoundoff } from './parity.ts'
import { addRows, type WeightDelta } from './loraDelta.ts'

/**
 * Root mean square of the rounding errors of a matrix, relative to that of its numbers, at most: of blocks where errors are
 * spread evenly over a step and one number is as large as its block allows while all others are small. A step is
 * the range of a block by its levels; the range is at most √2 of the length of its numbers if it has both signs.
 */
const largestError: Readonly<Record<WrittenType, number>> = {
  // Norms that are stored with one added are rounded once more.
  F32: 2 * unitRoundoff.F32,
  F16: unitRoundoff.F16,
  BF16: unitRoundoff.BF16,
  Q8_0: Math.sqrt(32 / 12) / 127,
  Q6_K: Math.sqrt(16 / 12) / 32,
  Q5_0: Math.sqrt(32 / 12) / 16,
  Q4_K: Math.sqrt((2 * 32) / 12) / 15,
}

interface WeightErrors {
  readonly lines: readonly ParityLine[]
  /** Root mean square of the relative errors of the matrices in blocks; 0 where there are none. */
  readonly noise: number
  readonly matrices: number
}

/** Compares every number of the file. */
export function weightErrors(base: ModelFolder, written: ModelFolder, adapter: Adapter): WeightErrors {
  const deltas = computedDeltas(base.config, adapter)
  const places = ggufPlaces(base.config)
  const errors = new Map<WrittenType, number[]>()
  for (const [name, location] of base.tensors) {
    // The text half of a model that also sees has a file of its own.
    const alone = name.replace(/^model\.language_model\./, 'model.')
    const [copy, place] = [written.tensors.get(alone), places.get(name)]
    if (copy === undefined || place === undefined) throw new Error(`Expected the file to have ${name}.`)
    const elements = rowElements(location, place)
    const pieces = [exactPieces(name, location, elements), exactPieces(name, copy, elements)] as const
    const type = copy.dtype as WrittenType
    errors.set(type, [...(errors.get(type) ?? []), relativeError(pieces, deltas.get(name) ?? null, place)])
  }
  const lines = [...errors].map(([type, found]) => {
    const sentence = `${found.length} tensors as ${type} against base + s·B·A: the root mean square of the errors, relative to that of the numbers.`
    return parityLine(sentence, Math.max(...found), largestError[type])
  })
  const inBlocks = [...errors].flatMap(([type, found]) => (isBlocks(type) ? found : []))
  const noise = inBlocks.length === 0 ? 0 : Math.hypot(...inBlocks) / Math.sqrt(inBlocks.length)
  return { lines, noise, matrices: inBlocks.length }
}

type Pieces = Generator<Float32Array>

/** Size by which an error of a number counts: that of the number in the file, where rounding is. */
function storedSize(value: number, { arrangement }: GgufPlace): number {
  if (arrangement?.kind === 'one-added') return value + 1
  return arrangement?.kind === 'tiled' && arrangement.isRate === true ? 1 : value
}

function relativeError(
  [ours, theirs]: readonly [Pieces, Pieces],
  delta: WeightDelta | null,
  place: GgufPlace,
): number {
  let [error, size, done] = [0, 0, 0]
  for (const [wanted, found] of inStep(ours, theirs)) {
    const exact = wanted.slice()
    if (delta !== null) addRows(exact, delta, done / delta.columns)
    done += exact.length
    for (const [at, value] of exact.entries()) {
      error += (value - (found[at] ?? NaN)) ** 2
      size += storedSize(value, place) ** 2
    }
  }
  return error === 0 ? 0 : Math.sqrt(error / size)
}

/** Yields two rows of pieces in pieces of the same lengths. */
function* inStep(ours: Pieces, theirs: Pieces): Generator<readonly [Float32Array, Float32Array]> {
  let [left, right] = [next(ours), next(theirs)]
  while (left.length > 0 && right.length > 0) {
    const count = Math.min(left.length, right.length)
    yield [left.subarray(0, count), right.subarray(0, count)]
    left = count < left.length ? left.subarray(count) : next(ours)
    right = count < right.length ? right.subarray(count) : next(theirs)
  }
  if (left.length !== right.length) throw new Error('Expected two tensors of the same size.')
}

function next(pieces: Pieces): Float32Array {
  const found = pieces.next()
  return found.done === true ? new Float32Array() : found.value
}

/** The largest of some hundreds of independent errors, in standard deviations. */
const largestOfMany = 3

/** Bounds the error of log-probabilities caused by independent relative errors in the given number of matrices. */
export function noiseLimits(
  { noise, matrices }: Pick<WeightErrors, 'noise' | 'matrices'>,
  { logprobs }: LiveAnswers,
): { readonly largest: number; readonly mean: number } {
  const sizes = logprobs.flatMap((row) => Array.from(row, Math.abs))
  const mean = sizes.reduce((sum, size) => sum + size, 0) / Math.max(1, sizes.length)
  const largest = sizes.reduce((most, size) => Math.max(most, size), 1)
  const share = noise * Math.sqrt(matrices)
  return { largest: largestOfMany * share * largest, mean: share * Math.max(1, mean) }
}

/**
 * Counts the texts that the file tokenizes differently from the base, and says if a conversation becomes another
 * prompt.
 */
export function tokenLine(
  base: Pick<ModelFolder, 'directory' | 'tokenizerFile'>,
  file: string,
  { texts }: ParityPrompts,
): readonly ParityLine[] {
  if (base.tokenizerFile === null || texts === null) return []
  const [ours, theirs] = [loadTokenizer(base.directory), loadTokenizer(file)]
  const differing = texts.filter((text) => idsOf(ours, text) !== idsOf(theirs, text))
  const [text = ''] = texts
  const isSame = promptOf(ours, text) === promptOf(theirs, text)
  const sentence = `Of ${texts.length} texts and the prompt of a conversation, those that become other tokens.`
  return [parityLine(sentence, differing.length + (isSame ? 0 : 1), 0)]
}

/** Returns the ids as text; what a small vocabulary cannot spell counts as nothing. */
function idsOf({ tokenizer }: LoadedTokenizer, text: string): string {
  try {
    return tokenizer.encode(text, { addSpecialTokens: true }).join()
  } catch (error) {
    if (error instanceof AppError) return ''
    throw error
  }
}

function promptOf({ chatTemplate }: LoadedTokenizer, content: string): string | null {
  return chatTemplate?.render([{ role: 'user', content }], { addGenerationPrompt: true }) ?? null
}
