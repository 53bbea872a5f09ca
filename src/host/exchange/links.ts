/**
 * Translates between a Turnwise setting and a tool's names for it: same value, different unit, or several names at once.
 */

/** A value of the file under its name there, or the tool's default. */
export type Given = (name: string) => unknown

/** Notes why the value read is not quite the same. */
export type Remark = (sentence: string) => void

/** Quantities of a run in the units of other tools. */
export interface Quantities {
  readonly algorithm: string
  /** Completions per prompt, or answers per row. */
  readonly groupSize: number
  /** Trajectories of a step; of given answers rows. */
  readonly perStep: number
  /** Trajectories (rows) of an update. */
  readonly perUpdate: number
  readonly updatesPerStep: number
  readonly steps: number
  /** Trajectories (rows) of one backward pass on one device. */
  readonly perDevice: number
  /** Tokens the model reads. */
  readonly contextLength: number
  /** Projections of the model, by the names of its own files. */
  readonly modules: readonly string[]
  /** Share of all updates over which the learning rate rises. */
  readonly warmup: number
  /** Loss for preference pairs; empty where there are no pairs. */
  readonly preferenceLoss: string
}

export interface Link {
  /** Names in the tool → what each is where the file does not say it. */
  readonly keys: Readonly<Record<string, unknown>>
  /** Returns our value; undefined: as if nothing had been said. Absent: the tool's side is only written. */
  readonly read?: (given: Given, remark: Remark) => unknown
  /** Names and values for the tool. Absent: another row writes them, or the tool is only read. */
  readonly write?: (value: unknown, quantities: Quantities) => Readonly<Record<string, unknown>>
}

/** A value in another unit; without one it is the same. */
export interface Unit {
  readonly read: (value: unknown, remark: Remark) => unknown
  readonly write: (value: unknown, quantities: Quantities) => unknown
}

const same: Unit = { read: (value) => value, write: (value) => value }

/** One name. `initial` is the tool's default. */
export const one = (name: string, initial: unknown, unit: Unit = same): Link => ({
  keys: { [name]: initial },
  read: (given, remark) => unit.read(given(name), remark),
  write: (value, quantities) => ({ [name]: unit.write(value, quantities) }),
})

/** Constant value: the tool has only one way. */
export const always = (value: unknown): Link => ({ keys: {}, read: () => value })

/** Makes a link read-only: the tool has the setting, but an exported run has nothing to set there. */
export const onlyRead = ({ keys, read }: Link): Link => (read === undefined ? { keys } : { keys, read })

/** Rounds away the noise of binary fractions: 1 − 0.8 is 0.2. */
export const tidy = (value: number): number => Number(value.toPrecision(12))

/** Looks up a name from a file in a table; the name may be any, including one of Object.prototype. */
export const entryOf = <Entry>(table: Readonly<Record<string, Entry>>, name: string): Entry | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

/** Returns a text as it is, anything else as JSON. */
export const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

export const asNumber = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null

/** Unit whose “off” is `ours` here and any of `theirs` there; the first of them is written. */
export const off = (ours: unknown, ...theirs: readonly unknown[]): Unit => ({
  read: (value) => (theirs.includes(value) ? ours : value),
  write: (value) => (value === ours ? theirs[0] : value),
})

/** Unit that is off in the tool from a number on, or below 1. */
export const offBeyond = (limit: number): Unit => ({
  read: (value) => {
    const count = asNumber(value)
    return count !== null && (count >= limit || count < 1) ? 0 : value
  },
  write: (value) => (value === 0 ? limit : value),
})

/** Unit with other words for the same choices: ours → theirs; reading a value gives the first word that has it. */
export const words = (
  table: Readonly<Record<string, unknown>>,
  others: Readonly<Record<string, string>> = {},
): Unit => ({
  read(value, remark) {
    const found = Object.entries(table).find(([, theirs]) => theirs === value)?.[0]
    if (found !== undefined) return found
    const other = entryOf(others, String(value))
    if (other === undefined) remark(`“${String(value)}” has no equivalent.`)
    return other
  },
  write: (value) => table[String(value)],
})

/** A flag that is one of two words there. */
export const flagWords = (yes: string, no: string): Unit => ({
  read(value, remark) {
    if (value === yes || value === no) return value === yes
    remark(`“${String(value)}” has no equivalent.`)
    return undefined
  },
  write: (value) => (value === true ? yes : no),
})

/** Name of a projection here → those of the families. */
const moduleWords: Readonly<Record<string, readonly string[]>> = {
  q: ['q_proj'],
  k: ['k_proj'],
  v: ['v_proj'],
  qkv: ['qkv_proj', 'c_attn'],
  o: ['o_proj', 'attn.c_proj', 'self_attn.out_proj'],
  in: ['in_proj'],
  out: ['conv.out_proj'],
  gate: ['gate_proj', 'w1'],
  gate_up: ['gate_up_proj'],
  up: ['up_proj', 'c_fc', 'w3'],
  down: ['down_proj', 'mlp.c_proj', 'w2'],
}

/** Adapted projections; without a setting PEFT adapts queries and values. */
export const targetModules: Unit = {
  read(value, remark) {
    if (value === null) return ['q', 'v']
    if (value === 'all-linear' || (Array.isArray(value) && value.includes('all-linear'))) return 'all-linear'
    const names = [value]
      .flat()
      .flatMap((each) => asText(each).split(/[\s,]+/))
      .filter(Boolean)
    const ours = (name: string) =>
      Object.keys(moduleWords).filter((key) =>
        (moduleWords[key] ?? []).some((module) => lastPart(module) === lastPart(name)),
      )
    const unknown = names.filter((name) => ours(name).length === 0)
    if (unknown.length > 0)
      remark(
        `${unknown.join(', ')} ${unknown.length === 1 ? 'gets' : 'get'} no adapter in Turnwise, which adapts the linear layers of attention and MLP: ${[...new Set(Object.values(moduleWords).flat())].join(', ')}.`,
      )
    const found = new Set(names.flatMap(ours))
    return found.size === 0 ? undefined : Object.keys(moduleWords).filter((name) => found.has(name))
  },
  write(value, { modules }) {
    if (!Array.isArray(value)) return 'all-linear'
    return value.flatMap((name) =>
      (moduleWords[String(name)] ?? []).filter((module) => modules.includes(module)),
    )
  },
}

/** TRL adapts only where use_peft says so; without it all weights are trained there. */
export const trlTargets: Link = {
  keys: { lora_target_modules: null, use_peft: null },
  read(given, remark) {
    const [modules, adapts] = [given('lora_target_modules'), given('use_peft')]
    if (adapts === false)
      remark(
        'use_peft is false, so TRL would train all weights; Turnwise trains a LoRA adapter, here of all linear layers.',
      )
    if (modules === null && adapts !== true) return 'all-linear'
    if (modules === null)
      remark(
        'The file does not set lora_target_modules: PEFT then chooses them by the kind of model, usually queries and values, which this run adapts (q, v).',
      )
    return targetModules.read(modules, (text) => remark(`lora_target_modules: ${text}`))
  },
  write: (value, quantities) => ({ lora_target_modules: targetModules.write(value, quantities) }),
}

const lastPart = (name: string): string => name.slice(name.lastIndexOf('.') + 1)

type Bounds = readonly [lower: number, upper: number]

/** [1 − c, 1 + c] is c; any other pair stays a pair of bounds. */
const shortest = ([least, upper]: Bounds): number | Bounds => {
  // A ratio is never below 0.
  const lower = Math.max(0, least)
  const [below, above] = [tidy(1 - lower), tidy(upper - 1)]
  return below === above ? below : [tidy(lower), tidy(upper)]
}

const boundsOf = (coefficient: unknown): Bounds =>
  Array.isArray(coefficient)
    ? [Number(coefficient[0]), Number(coefficient[1])]
    : [1 - Number(coefficient), 1 + Number(coefficient)]

/** Distances below and above 1 under two names; the second null: as the first. */
export const clipOffsets = (low: string, high: string, initial: number): Link => ({
  keys: { [low]: initial, [high]: null },
  read(given) {
    const below = asNumber(given(low))
    if (below === null) return undefined
    return shortest([1 - below, 1 + (asNumber(given(high)) ?? below)])
  },
  write(value) {
    const [lower, upper] = boundsOf(value)
    return { [low]: tidy(1 - lower), [high]: tidy(upper - 1) }
  },
})

/** One distance; where the tool has a second one, it can only be the same here. */
export const clipDistance = (low: string, high: string, initial: number): Link => ({
  keys: { [low]: initial, [high]: null },
  read(given, remark) {
    const [below, above] = [given(low), given(high)]
    if (above !== null && above !== below)
      remark(`${high} was skipped: both sides are clipped equally in Turnwise.`)
    return below
  },
  write: (value) => ({ [low]: value, [high]: value }),
})

/** An upper bound of the ratio and none below. */
export const clipCap = (name: string): Link => ({
  keys: { [name]: null, epsilon: 0.2 },
  read(given, remark) {
    const cap = asNumber(given(name)) ?? asNumber(given('epsilon'))
    if (cap !== null && cap >= 1) return tidy(cap - 1)
    remark(`${name} limits the ratio itself, which starts at 1, so ${String(cap)} would exclude everything.`)
    return undefined
  },
  write: (value) => ({ [name]: tidy(boundsOf(value)[1]), epsilon: 1 }),
})

/**
 * Clip range, read as a distance or as the bounds themselves; written as a distance, the wider of both, where the tool
 * takes it.
 */
export const ratioBounds: Unit = {
  read: (value) => (Array.isArray(value) ? shortest(boundsOf(value)) : value),
  write(value) {
    const [lower, upper] = boundsOf(value)
    return upTo(1, tidy(Math.max(1 - lower, upper - 1)))
  },
}

/** An upper bound as a distance from 1; a lower one does not count there. */
export const upperDistance: Unit = {
  read: (value) => (Array.isArray(value) ? tidy(boundsOf(value)[1] - 1) : value),
  write: (value) => upTo(1, tidy(boundsOf(value)[1] - 1)),
}

/** A number the tool refuses above a limit. */
export const atMost = (limit: number): Unit => ({
  read: (value) => value,
  write: (value) => upTo(limit, Number(value)),
})

const upTo = (limit: number, value: number): number | undefined => (value > limit ? undefined : value)

/** Flag for TF32; the weights themselves stay in 32 bits. */
export const tf32: Link = {
  keys: { tf32: null },
  read(given, remark) {
    const value = given('tf32')
    if (typeof value !== 'boolean' && value !== null) remark(`“${asText(value)}” has no equivalent.`)
    return value === true ? 'tf32' : undefined
  },
  write: (value) => ({ tf32: { f32: false, tf32: true }[String(value)] }),
}

export const unset = off(undefined, null)
export const unnamed = off(undefined, null, '')

export const correction = words({ auto: true, on: true, off: false })

/** A number that the program leaves to transformers where the file does not say it. */
export const orElse = (name: string, initial: number): Link => one(name, null, off(initial, null))
