import { isRecord } from '../pipelineLimits.ts'
import { flatten, type StepConfig } from './steps.ts'

/** Ids that special tokens add around a text. */
export interface Surroundings {
  readonly before: readonly number[]
  readonly after: readonly number[]
}

const none: Surroundings = { before: [], after: [] }

/** What the post-processor of a tokenizer.json adds to one text; null when it has a step unknown here. */
export function readSurroundings(stage: unknown): Surroundings | null {
  const steps = flatten(stage, 'processors')
  if (steps === null) return null
  let around = none
  for (const step of steps) {
    if (step['type'] === 'ByteLevel') continue
    const template = step['type'] === 'TemplateProcessing' ? readTemplate(step) : null
    if (template === null) return null
    around = {
      before: [...template.before, ...around.before],
      after: [...around.after, ...template.after],
    }
  }
  return around
}

/** Special tokens before and after the one place of the text. */
function readTemplate({ single, special_tokens }: StepConfig): Surroundings | null {
  if (!Array.isArray(single) || !isRecord(special_tokens)) return null
  const parts = single.map((piece: unknown) => readPiece(piece, special_tokens))
  const place = parts.indexOf('text')
  if (place < 0 || parts.lastIndexOf('text') !== place || parts.includes(null)) return null
  const idsOf = (list: typeof parts) => list.flatMap((part) => (part === 'text' || part === null ? [] : part))
  return { before: idsOf(parts.slice(0, place)), after: idsOf(parts.slice(place + 1)) }
}

function readPiece(piece: unknown, known: StepConfig): readonly number[] | 'text' | null {
  if (!isRecord(piece)) return null
  const { Sequence: sequence, SpecialToken: special } = piece
  if (isRecord(sequence)) return sequence['id'] === 'A' ? 'text' : null
  const token = isRecord(special) && typeof special['id'] === 'string' ? known[special['id']] : null
  const ids: unknown = isRecord(token) ? token['ids'] : null
  return Array.isArray(ids) && ids.every((id): id is number => Number.isInteger(id) && id >= 0) ? ids : null
}
