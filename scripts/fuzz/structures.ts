/** Variants of a file that are sound JSON and say something else: what changed bytes rarely get past the parser. */
import type { SequentialRandom } from '#shared/random.ts'

/** How a file's JSON is taken out of it and put back. */
export interface JsonShape {
  readonly take: (content: Buffer) => string
  readonly put: (content: Buffer, json: string) => Buffer
}

/** The whole file is JSON. */
export const plainJson: JsonShape = {
  take: (content) => content.toString('utf8'),
  put: (_content, json) => Buffer.from(json),
}

type Container = Record<string, unknown>

/** Values that a reader may expect least. */
const oddValues: readonly ((random: SequentialRandom) => unknown)[] = [
  () => null,
  () => true,
  () => false,
  (random) => [0, -1, 1, 2, 0.5, -0.5, 1e308, 5e-324, 2 ** 31, 2 ** 32, 2 ** 53, 1e21][random.integer(12)],
  (random) => random.integer(1_000),
  () => '',
  () => '\ud800',
  () => '__proto__',
  (random) => 'x'.repeat(1 << random.integer(15)),
  (random) => '('.repeat(1 << random.integer(10)),
  () => '(a+)+$',
  () => '../../../etc/hostname',
  () => [],
  () => ({}),
  () => [null],
  (random) => Array.from({ length: 1 << random.integer(11) }, () => 0),
  (random) => Array.from({ length: random.integer(300) }).reduce<unknown>((inner) => [inner], 1),
  (random) => Array.from({ length: random.integer(300) }).reduce<unknown>((type) => ({ type }), 'x'),
]

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null

interface Place {
  readonly holder: Container
  readonly key: string
}

/** A member somewhere in the tree, those near the root as likely as those below. */
function placeIn(root: unknown, random: SequentialRandom): Place | null {
  let place: Place | null = null
  let value = root
  while (isContainer(value)) {
    const keys = Object.keys(value)
    const key = keys[random.integer(Math.max(1, keys.length))]
    if (key === undefined) break
    place = { holder: value, key }
    value = value[key]
    if (random.integer(4) === 0) break
  }
  return place
}

type Change = (place: Place, root: unknown, random: SequentialRandom) => void

const put = ({ holder, key }: Place, value: unknown): void => {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true })
}

const odd: Change = (place, _root, random) => {
  put(place, oddValues[random.integer(oddValues.length)]?.(random))
}

const remove: Change = ({ holder, key }) => {
  if (Array.isArray(holder)) holder.splice(Number(key), 1)
  else Reflect.deleteProperty(holder, key)
}

/** Another part of the same file: of the right kind in the wrong place. */
const copy: Change = (place, root, random) => {
  const other = placeIn(root, random)
  if (other) put(place, structuredClone(other.holder[other.key]))
}

const rename: Change = (place, root, random) => {
  const other = placeIn(root, random)
  if (!other || Array.isArray(place.holder)) return
  const value = place.holder[place.key]
  remove(place, root, random)
  put({ holder: place.holder, key: other.key }, value)
}

const near: Change = (place, root, random) => {
  const value = place.holder[place.key]
  if (typeof value === 'number') put(place, value + ([-1, 1, 0.5, value, -2 * value][random.integer(5)] ?? 0))
  else if (typeof value === 'string') put(place, nearText(value, random))
  else odd(place, root, random)
}

/** Up to three characters left out, doubled, or put elsewhere. */
function nearText(text: string, random: SequentialRandom): string {
  const at = random.integer(text.length + 1)
  const length = 1 + random.integer(3)
  const part = text.slice(at, at + length)
  const rest = text.slice(0, at) + text.slice(at + length)
  if (random.integer(3) === 0) return rest
  const to = random.integer(rest.length + 1)
  return random.integer(2) === 0
    ? text.slice(0, at) + part + text.slice(at)
    : rest.slice(0, to) + part + rest.slice(to)
}

const changes: readonly Change[] = [odd, odd, near, near, near, remove, copy, rename]

/** One to three changes of the original's tree. */
export function restructure(
  original: Buffer,
  { take, put: putBack }: JsonShape,
  random: SequentialRandom,
): Buffer {
  const root = JSON.parse(take(original)) as unknown
  for (let change = 0; change <= random.integer(3); change++) {
    const place = placeIn(root, random)
    if (place) changes[random.integer(changes.length)]?.(place, root, random)
  }
  return putBack(original, JSON.stringify(root))
}
