/**
 * Helpers that the steps of a tokenizer.json share: they read settings, and give access to the tokenizer library that
 * most steps come from.
 */
import * as untypedLibrary from '@huggingface/tokenizers'
import { isRecord } from '../pipelineLimits.ts'

/** One step as the file gives it; `type` says which. */
export type StepConfig = Readonly<Record<string, unknown>>

/** The part of the library that is used; its own types do not resolve under Node's module rules. */
interface Library {
  readonly Tokenizer: new (
    json: object,
    config: object,
  ) => { encode(text: string, options: { add_special_tokens: boolean }): { ids: unknown[] } }
  readonly SequenceNormalizer: new (config: { normalizers: unknown[] }) => { normalize(text: string): string }
  readonly SequencePreTokenizer: new (config: { pretokenizers: unknown[] }) => {
    pre_tokenize(text: string, options: { section_index: number }): string[]
  }
  readonly SequencePostProcessor: new (config: { processors: unknown[] }) => {
    post_process(tokens: string[], pair: null, addSpecialTokens: boolean): { tokens: string[] }
  }
  readonly SequenceDecoder: new (config: { decoders: unknown[] }) => {
    decode_chain(tokens: readonly string[]): string[]
  }
  readonly SplitPreTokenizer: new (config: StepConfig) => { readonly pattern: RegExp | null }
}

export const library = untypedLibrary as unknown as Library

/** The steps of a stage in order, sequences opened. Errors: Error where the file is not as expected. */
export function flatten(stage: unknown, listName: string): StepConfig[] {
  if (stage === null || stage === undefined) return []
  if (!isRecord(stage)) throw new Error('a step of its pipeline is not an object')
  if (stage['type'] !== 'Sequence') return [stage]
  const list = stage[listName]
  if (!Array.isArray(list)) throw new Error(`a sequence of its pipeline has no ${listName}`)
  return list.flatMap((step: unknown) => flatten(step, listName))
}

/** A global pattern from {"String": …} or {"Regex": …}; null for anything else. Errors: SyntaxError. */
export function readPattern(pattern: unknown): RegExp | null {
  if (!isRecord(pattern)) return null
  const { String: literal, Regex: source } = pattern
  if (typeof literal === 'string' && literal !== '') {
    return new RegExp(literal.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`), 'gu')
  }
  if (typeof source !== 'string') return null
  return new library.SplitPreTokenizer({ pattern: { Regex: source }, behavior: 'Isolated', invert: false })
    .pattern
}

/** Returns the same step for the library, which would take dollar signs in a replacement for references. */
export const plainContent = (config: StepConfig): StepConfig =>
  typeof config['content'] === 'string'
    ? { ...config, content: config['content'].replaceAll('$', '$$$$') }
    : config
