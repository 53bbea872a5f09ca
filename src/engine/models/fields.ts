import { type AppError, invalidModel } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'

export interface NumberLimits {
  readonly min: number
  readonly max: number
  /** Used where the field is absent or null; without it the field is required. */
  readonly fallback?: number
}

/**
 * A foreign JSON object read field by field, each checked for type and range. `where` names the file in errors. Absent
 * and null are the same. Errors: AppError 'model/invalid' naming file and field.
 */
export class Fields {
  readonly where: string
  readonly #values: object
  readonly #prefix: string

  constructor(json: unknown, where: string, prefix = '') {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      const what = prefix === '' ? where : `“${prefix.slice(0, -1)}” in ${where}`
      throw invalidModel(`${what} must be a JSON object.`)
    }
    this.where = where
    this.#values = json
    this.#prefix = prefix
  }

  /** The raw value; null when absent. */
  value(key: string): unknown {
    return Object.hasOwn(this.#values, key) ? ((this.#values as Record<string, unknown>)[key] ?? null) : null
  }

  has(key: string): boolean {
    return this.value(key) !== null
  }

  /** Returns true if the field exists and is null, which some defaults distinguish from absence. */
  isNull(key: string): boolean {
    return Object.hasOwn(this.#values, key) && !this.has(key)
  }

  number(key: string, { min, max, fallback }: NumberLimits): number {
    const value = this.value(key) ?? fallback
    if (value === undefined) throw this.invalid(key, `a number from ${min} to ${max}`)
    if (value === fallback) return fallback
    if (typeof value !== 'number' || !(value >= min && value <= max)) {
      throw this.invalid(key, `a number from ${min} to ${max}`)
    }
    return value
  }

  integer(key: string, limits: NumberLimits): number {
    const value = this.number(key, limits)
    if (!Number.isInteger(value))
      throw this.invalid(key, `a whole number from ${limits.min} to ${limits.max}`)
    return value
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.value(key) ?? fallback
    if (typeof value !== 'boolean') throw this.invalid(key, 'true or false')
    return value
  }

  text(key: string, fallback: string): string {
    const value = this.value(key) ?? fallback
    if (typeof value !== 'string') throw this.invalid(key, 'a text')
    return value
  }

  texts(key: string): readonly string[] {
    const value = this.value(key) ?? []
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw this.invalid(key, 'a list of texts')
    }
    return value
  }

  numbers(key: string, { min, max }: { readonly min: number; readonly max: number }): readonly number[] {
    const value = this.value(key) ?? []
    const isInRange = (item: unknown): item is number =>
      typeof item === 'number' && item >= min && item <= max
    if (!Array.isArray(value) || !value.every(isInRange)) {
      throw this.invalid(key, `a list of numbers from ${min} to ${max}`)
    }
    return value
  }

  /** A nested object; an empty one when absent. */
  object(key: string): Fields {
    return new Fields(this.value(key) ?? {}, this.where, `${this.#prefix}${key}.`)
  }

  invalid(key: string, expected: string): AppError {
    const value = this.value(key)
    const found = value === null ? 'it is missing' : `it is ${describe(value)}`
    return invalidModel(`“${this.#prefix}${key}” in ${this.where} must be ${expected}; ${found}.`)
  }
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' ? `“${shorten(value)}”` : 'an object'
}
