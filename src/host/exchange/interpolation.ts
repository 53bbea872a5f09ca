/** Fills in the references of OmegaConf in a document: `${actor.path}`. Other resolvers (`${mult:8,8}`) stay unknown. */
import { isObject, valueAt, type JsonObject } from '#shared/config/paths.ts'
import { invalidConfig } from '#shared/errors.ts'
import type { ImportNote } from './importNotes.ts'

/** Sections of files that are read with OmegaConf. */
const sections = ['actor', 'gconfig', 'train_dataset']

const maxDepth = 20

/** Limits on all references together: nested ones multiply. */
const maxFills = 5_000
const maxCharacters = 1_000_000

export interface Interpolated {
  readonly document: unknown
  readonly notes: readonly ImportNote[]
}

export function interpolated(document: unknown): Interpolated {
  if (!isObject(document) || !sections.some((name) => Object.hasOwn(document, name)))
    return { document, notes: [] }
  const references = new References(document)
  return { document: references.filled(document, ''), notes: references.notes }
}

/** A value that is not known: the setting is left out. */
const nothing = Symbol('nothing')

class References {
  readonly notes: ImportNote[] = []
  readonly #document: JsonObject
  #fills = 0
  #characters = 0

  constructor(document: JsonObject) {
    this.#document = document
  }

  filled(value: unknown, path: string): unknown {
    if (Array.isArray(value))
      return value.map((each: unknown) => this.filled(each, path)).filter((each) => each !== nothing)
    if (isObject(value)) {
      const entries = Object.entries(value).map(
        ([key, inner]) => [key, this.filled(inner, path === '' ? key : `${path}.${key}`)] as const,
      )
      return Object.fromEntries(entries.filter(([, inner]) => inner !== nothing))
    }
    return typeof value === 'string' && value.includes('${') ? this.#text(value, path, 0) : value
  }

  #text(text: string, path: string, depth: number): unknown {
    const whole = /^\$\{([^{}]*)\}$/.exec(text)
    if (whole !== null) return this.#value(whole[1] ?? '', path, depth)
    const parts = text
      .split(/\$\{([^{}]*)\}/)
      .map((part, i) => (i % 2 === 0 ? part : this.#value(part, path, depth)))
    if (parts.some((part) => part === nothing || typeof part === 'object')) return nothing
    this.#characters += parts.reduce<number>((sum, part) => sum + String(part).length, 0)
    this.#requireFew()
    return parts.join('')
  }

  #requireFew(): void {
    if (this.#fills <= maxFills && this.#characters <= maxCharacters) return
    throw invalidConfig(
      `The references in the file, such as \${actor.path}, would be filled in more than ${maxFills} times or with more than ${maxCharacters} characters. Nothing was imported.`,
      'Replace references to references by what they stand for.',
    )
  }

  #value(reference: string, path: string, depth: number): unknown {
    this.#fills++
    this.#requireFew()
    const [, variable, initial] = /^oc\.env:\s*(\w+)\s*(?:,\s*(.*))?$/.exec(reference) ?? []
    if (variable !== undefined && initial !== undefined) {
      this.notes.push({
        kind: 'changed',
        name: path,
        text: `${path}: the environment’s ${variable} is not read; its default in the file (${initial}) was taken.`,
      })
      return initial
    }
    const found =
      depth < maxDepth && /^[\w.-]+$/.test(reference) ? valueAt(this.#document, reference) : undefined
    if (typeof found === 'string' && found.includes('${')) return this.#text(found, path, depth + 1)
    if (found !== undefined) return found
    const text = `${path} is not known: Turnwise cannot work out \${${reference}}.`
    this.notes.push({ kind: 'left-out', name: path, text })
    return nothing
  }
}
