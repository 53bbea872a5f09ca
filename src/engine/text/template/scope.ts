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

/** The names every template knows, and those of one rendering. */
export function globalScope(variables: ReadonlyMap<string, Value>): Scope {
  const scope = new Scope()
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
  ['strftime_now', ({ args: [format] }) => stoppedClock(textOf(format))],
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
 * Templates that write today's date would change a run's prompts at midnight, so that it could be neither resumed
 * nor replayed. They get the date that Llama 3's templates fall back to.
 */
const stopped: Readonly<Record<string, string>> = {
  ...{ d: '26', m: '07', Y: '2024', y: '24', b: 'Jul', B: 'July', A: 'Friday', a: 'Fri', j: '208', e: '26' },
  ...{
    H: '00',
    I: '12',
    M: '00',
    S: '00',
    p: 'AM',
    F: '2024-07-26',
    T: '00:00:00',
    D: '07/26/24',
    w: '5',
    u: '5',
  },
  ...{ Z: '', z: '', '%': '%' },
}

const stoppedClock = (format: string): string =>
  replacedText(format, /%(-?)(.)/g, (whole = '', unpadded, letter = '') => {
    const text = Object.hasOwn(stopped, letter) ? stopped[letter] : undefined
    if (text === undefined) return whole
    return unpadded === '' ? text : text.replace(/^0+(?=\d)/, '')
  })
