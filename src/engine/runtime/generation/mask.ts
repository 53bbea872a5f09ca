/**
 * Builds attention masks: which slots and new positions a pass may see, as numbers added to the attention scores, 0 or
 * `HIDDEN`.
 */
import { HIDDEN } from '#engine/ops/attention.ts'
import { slotsBehind } from '#engine/models/layerStates.ts'
import type { AttentionWindow } from '#engine/models/config.ts'
import type { DecodePass } from './decoder.ts'

/** New positions behind those of a cache. */
export interface PositionsBehind {
  /** [B] positions of each row's own before the new ones. */
  readonly lengths: readonly number[]
  /** T */
  readonly length: number
  /** P: position p of a row's own lies in slot p mod P. */
  readonly slots: number
  /** Prompts that come before a row's own positions; none if absent. */
  readonly prompts?: PromptLengths
}

/** Shared prompts of rows. */
export interface PromptLengths {
  /** [B] 0 for a row without one. */
  readonly lengths: readonly number[]
  /** S: position p of a prompt lies in slot p mod S. */
  readonly slots: number
}

/**
 * Mask of a pass, [B, T, S+P+T]: each new position sees the slots of earlier positions, the new positions before it and
 * itself, of all these as many as the window says. Padding on the right needs nothing more, since no real position sees what
 * comes after it.
 */
export function passMask(
  { lengths, length, slots, prompts }: PositionsBehind,
  window: AttentionWindow,
): Float32Array {
  const shared = prompts?.slots ?? 0
  const width = shared + slots + length
  const mask = new Float32Array(lengths.length * length * width)
  for (let query = 0; query < lengths.length * length; query++) {
    const row = Math.floor(query / length)
    const [filled, own] = [lengths[row]!, query % length]
    const before = (window ?? Infinity) - 1 - own
    const at = query * width
    const ofPrompt = { filled: prompts?.lengths[row] ?? 0, seen: before - filled }
    showLatest(mask.subarray(at, at + shared), ofPrompt)
    showLatest(mask.subarray(at + shared, at + shared + slots), { filled, seen: before })
    const fresh = mask.subarray(at + shared + slots, at + width)
    fresh.fill(HIDDEN, 0, Math.max(0, -before))
    fresh.fill(HIDDEN, own + 1)
  }
  return mask
}

/** Shows at most the latest `seen` of `filled` positions, which lie in these slots in turn. */
function showLatest(mask: Float32Array, { filled, seen: wanted }: { filled: number; seen: number }): void {
  const slots = mask.length
  const seen = Math.max(0, Math.min(wanted, filled, slots))
  // Visible slots end before the slot of the next position, where hidden ones begin, and may go on from the first slot.
  const from = seen < slots ? filled % slots : 0
  const to = from + slots - seen
  mask.fill(HIDDEN, from, Math.min(to, slots))
  mask.fill(HIDDEN, 0, Math.max(0, to - slots))
}

/** Builds the mask of what the new positions of a pass see through a window. */
export function maskThrough(
  { cache, rows, length, mask, prompts }: DecodePass,
  window: AttentionWindow,
): Float32Array {
  if (mask && window === null) return mask
  const lengths = Array.from({ length: rows }, (_, row) => cache.lengthOf(row))
  const behind = { lengths, length, slots: slotsBehind(window, cache.capacity) }
  if (!prompts) return passMask(behind, window)
  const lengthsOfPrompts = prompts.promptOf.map((prompt) => (prompt < 0 ? 0 : prompts.cache.lengthOf(prompt)))
  const shared = { lengths: lengthsOfPrompts, slots: slotsBehind(window, prompts.cache.capacity) }
  return passMask({ ...behind, prompts: shared }, window)
}

/**
 * Mask of decode steps of one token, [rows, 1, S+P+1]: a row sees its prompt's slots, its own filled ones and the new position.
 * A step changes few entries of a row, so the mask is kept and edited, never rebuilt.
 */
export class DecodeMask {
  readonly #prompt: number
  readonly #width: number
  readonly #data: Float32Array

  /** `capacity`: P; `prompt`: S. */
  constructor(rows: number, capacity: number, prompt = 0) {
    this.#prompt = prompt
    this.#width = prompt + capacity + 1
    this.#data = new Float32Array(rows * this.#width)
  }

  /** Shows the first `length` slots of `row` and those of the first `prompt` positions of its prompt, hides the others. */
  show(row: number, length: number, prompt = 0): void {
    const start = row * this.#width
    const own = start + this.#prompt
    this.#data.fill(0, start, own + length)
    this.#data.fill(HIDDEN, start + prompt, own)
    this.#data.fill(HIDDEN, own + length, start + this.#width - 1)
  }

  /** Shows one more of the own slots of `row`. */
  reveal(row: number, slot: number): void {
    this.#data[row * this.#width + this.#prompt + slot] = 0
  }

  /** View of the first `rows` rows. */
  view(rows: number): Float32Array {
    return this.#data.subarray(0, rows * this.#width)
  }
}
