import { charge, replacedText } from './limits.ts'
import {
  type CallArguments,
  isDict,
  isList,
  itemsOf,
  Namespace,
  numberOf,
  textOf,
  type Value,
} from './values.ts'

/** Names and their values; what an inner scope sets, the outer one does not see. */
export class Scope {
  readonly #values = new Map<string, Value>()
  readonly #outer: Scope | null

  constructor(outer: Scope | null = null) {
    this.#outer = outer
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value)
  }

  get(name: string): Value {
    charge(1)
    return this.#values.has(name) ? this.#values.get(name) : this.#outer?.get(name)
  }
}

const maxRange = 10_000

/**
 * Returns the scope with the names every template knows, and those of one rendering; `now`: time returned by
 * strftime_now.
 */
export function globalScope(variables: ReadonlyMap<string, Value>, now: Date = stopped): Scope {
  const scope = new Scope()
  scope.set('strftime_now', ({ args: [format] }) => formatClock(textOf(format), now))
  for (const [name, value] of constants) scope.set(name, value)
  for (const [name, value] of variables) scope.set(name, value)
  return scope
}

const constants: readonly (readonly [string, Value])[] = [
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
  ['range', range],
  ['namespace', namespace],
  ['dict', (call) => namespace(call).fields],
  [
    'raise_exception',
    ({ args: [message] }) => {
      throw new Error(textOf(message))
    },
  ],
]

function namespace({ args: [first], named }: CallArguments): Namespace {
  const made = new Namespace()
  if (isDict(first)) charge(first.size)
  charge(named.size)
  const entries = isDict(first) ? [...first] : itemsOf(first).map(pairOf)
  for (const [name, value] of [...entries, ...named]) made.fields.set(name, value)
  return made
}

function pairOf(value: Value): [string, Value] {
  if (isList(value) && value.length === 2) return [textOf(value[0]), value[1]]
  throw new Error('a namespace takes key-value pairs')
}

/** Python's range, up to `maxRange` numbers. */
function range({ args }: CallArguments): number[] {
  const [first = 0, second, step = 1] = args.map((value) => numberOf(value) ?? Number.NaN)
  const [start, stop] = second === undefined ? [0, first] : [first, second]
  const length = Math.max(0, Math.ceil((stop - start) / step))
  if (!(length <= maxRange)) throw new Error(`it asked for a range of ${length} numbers`)
  charge(length)
  return Array.from({ length }, (_, index) => start + index * step)
}

/**
 * Templates that write today's date would change a run's prompts at midnight, so that it could be neither resumed nor
 * replayed. Unless they are given a date, they get the one that Llama 3's templates fall back to.
 */
const stopped = new Date(2024, 6, 26)

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July'],
  ...['August', 'September', 'October', 'November', 'December'],
]

/** The text that Python's strftime writes for each letter, in English, for a time without a zone. */
function clockFields(date: Date): Readonly<Record<string, string>> {
  const padded = (value: number, width = 2) => String(value).padStart(width, '0')
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()]
  const [d, m, Y, H, M, S] = [
    day,
    month + 1,
    year,
    date.getHours(),
    date.getMinutes(),
    date.getSeconds(),
  ].map((value) => padded(value)) as [string, string, string, string, string, string]
  const [A = '', B = ''] = [days[date.getDay()], months[month]]
  const ordinal = (Date.UTC(year, month, day) - Date.UTC(year, 0, 0)) / 86_400_000
  return {
    d,
    m,
    Y,
    H,
    M,
    S,
    A,
    B,
    y: Y.slice(-2),
    a: A.slice(0, 3),
    b: B.slice(0, 3),
    j: padded(ordinal, 3),
    e: String(day).padStart(2),
    I: padded(date.getHours() % 12 || 12),
    p: date.getHours() < 12 ? 'AM' : 'PM',
    F: `${Y}-${m}-${d}`,
    T: `${H}:${M}:${S}`,
    D: `${m}/${d}/${Y.slice(-2)}`,
    w: String(date.getDay()),
    u: String(date.getDay() || 7),
    Z: '',
    z: '',
    '%': '%',
  }
}

function formatClock(format: string, date: Date): string {
  const fields = clockFields(date)
  return replacedText(format, /%(-?)(.)/g, (whole = '', unpadded, letter = '') => {
    const text = Object.hasOwn(fields, letter) ? fields[letter] : undefined
    if (text === undefined) return whole
    return unpadded === '' ? text : text.replace(/^[0 ]+(?=\d)/, '')
  })
}
