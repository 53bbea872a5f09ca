/** Reads calls with their arguments from a Python file, with arithmetic and containers of literals. */
import { isObject } from '#shared/config/paths.ts'
import { computed } from './pythonTokens.ts'

type PythonCallParts = Pick<PythonCall, 'name' | 'args' | 'keywords' | 'target'> &
  Partial<Pick<PythonCall, 'unread' | 'conditional'>>

export class PythonCall {
  /** Dotted, as written. */
  readonly name: string
  readonly args: readonly unknown[]
  /** Keyword arguments, including those of a spread dict (`**options`) whose literals can be read. */
  readonly keywords: Readonly<Record<string, unknown>>
  /** The keyword, key or name that its result is given to. */
  readonly target: string | null
  /** Spread expressions that cannot be read, such as `**options`, so that the call may have further keywords. */
  readonly unread: readonly string[]
  /** `target.attribute = value` under a condition, which is not evaluated. */
  readonly conditional: Readonly<Record<string, unknown>>

  constructor(call: PythonCallParts) {
    this.name = call.name
    this.args = call.args
    this.keywords = call.keywords
    this.target = call.target
    this.unread = call.unread ?? []
    this.conditional = call.conditional ?? {}
  }

  /** The last part of its name. */
  get method(): string {
    return this.name.slice(this.name.lastIndexOf('.') + 1)
  }

  /** Argument by place or keyword; undefined where it is not given. */
  argument(place: number, keyword: string): unknown {
    return Object.hasOwn(this.keywords, keyword) ? this.keywords[keyword] : this.args[place]
  }
}

/** Key, beside those of a dict, for the names that are spread into it and cannot be read. */
const unreadKey = Symbol('unread')

export const withUnread = (
  entries: Iterable<readonly [key: string, value: unknown]>,
  unread: readonly string[],
): object => ({ ...Object.fromEntries(entries), ...(unread.length === 0 ? {} : { [unreadKey]: unread }) })

export interface Spread {
  readonly entries: readonly (readonly [key: string, value: unknown])[]
  readonly unread: readonly string[]
}

/** Returns the entries that `**value` brings. `written`: the expression. */
export function spreadOf(value: unknown, written: string): Spread {
  if (!isObject(value) || value instanceof PythonCall) return { entries: [], unread: [written] }
  const { [unreadKey]: unread = [] } = value as { readonly [unreadKey]?: readonly string[] }
  return { entries: Object.entries(value), unread }
}

/** Calls that stand for a value. */
export const literalCalls: Readonly<Record<string, (call: PythonCall) => unknown>> = {
  float: ({ args }) => numberFrom(args[0]),
  int({ args }) {
    const number = numberFrom(args[0])
    return typeof number === 'number' ? Math.trunc(number) : number
  },
  dict: ({ args, keywords, unread }) =>
    args.length === 0 ? withUnread(Object.entries(keywords), unread) : computed,
}

function numberFrom(value: unknown): unknown {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : computed
}

export function arithmetic(a: unknown, b: unknown, of: (a: number, b: number) => number): unknown {
  if (typeof a !== 'number' || typeof b !== 'number') return computed
  const value = of(a, b)
  return Number.isFinite(value) ? value : computed
}

export const joined = (a: unknown, b: unknown): unknown =>
  typeof a === 'string' && typeof b === 'string' ? a + b : computed

export function itemOf(value: unknown, key: unknown): unknown {
  const isKey = typeof key === 'string' || typeof key === 'number'
  if (!isKey || typeof value !== 'object' || value === null || value instanceof PythonCall) return computed
  const place = Array.isArray(value) && typeof key === 'number' && key < 0 ? value.length + key : key
  return Object.hasOwn(value, place) ? (value as Record<string | number, unknown>)[place] : computed
}
