import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createTokenizer, type Tokenizer } from '#engine/text/tokenizer.ts'

/** What the reference made of the texts; fields equal to another one are left out (see make.py). */
export interface Reference {
  readonly vocabSize: number
  readonly cases: readonly {
    readonly ids: readonly number[]
    readonly special?: readonly number[]
    readonly decoded?: string
    readonly skipped?: string
  }[]
  /** Digests of: ids of random texts; where decoding is compared, their texts, texts of random ids, the same without special tokens. */
  readonly blocks: readonly (readonly string[])[]
}

interface Texts {
  readonly texts: readonly string[]
  readonly atoms: readonly string[]
  readonly blocks: number
  readonly textsPerBlock: number
  readonly seed: number
}

const root = new URL('../../fixtures/tokenizers/', import.meta.url)
const readJson = (path: string): unknown => JSON.parse(readFileSync(new URL(path, root), 'utf8'))

export const texts = readJson('texts.json') as Texts

/** Folders with a tokenizer, one for each family's pipeline. */
export const families = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'templates')
  .map(({ name }) => name)
  .sort()

export const tokenizerJsonOf = (family: string) =>
  readJson(`${family}/tokenizer.json`) as Record<string, unknown>
export const tokenizerConfigOf = (family: string) =>
  readJson(`${family}/tokenizer_config.json`) as Record<string, unknown>
export const referenceOf = (family: string) => readJson(`${family}/reference.json`) as Reference

export const loadFamily = (family: string): Tokenizer =>
  createTokenizer({
    tokenizerJson: tokenizerJsonOf(family),
    tokenizerConfig: tokenizerConfigOf(family),
    where: family,
  })

/** The numbers that make.py draws. */
export class Xorshift {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  below(limit: number): number {
    let state = this.#state
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    this.#state = state >>> 0
    return this.#state % limit
  }
}

const list = <T>(length: number, make: () => T): T[] => Array.from({ length }, make)

export const randomTexts = (draw: Xorshift): string[] =>
  list(texts.textsPerBlock, () =>
    list(1 + draw.below(14), () => texts.atoms[draw.below(texts.atoms.length)] ?? '').join(''),
  )

export const randomIds = (draw: Xorshift, size: number): number[][] =>
  list(texts.textsPerBlock, () => list(1 + draw.below(10), () => draw.below(size)))

/** Of the value as Python's json writes it: characters beyond ASCII escaped. */
export function digest(value: unknown): string {
  const ascii = JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return createHash('sha256').update(ascii).digest('hex').slice(0, 16)
}
