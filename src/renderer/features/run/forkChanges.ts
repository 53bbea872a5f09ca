/** What a fork does differently from its parent. */
import type { RunConfig } from '#shared/runConfig.ts'
import type { SettingRow } from './configTree.ts'
import { isSame } from './configTree.ts'

/** Settings by dotted name, as `runs.fork` takes them. */
export type Changes = Readonly<Record<string, unknown>>

export interface ShownChange {
  readonly path: string
  readonly before: unknown
  readonly after: unknown
}

interface Typed {
  /** What it is now. */
  readonly value: unknown
  /** What it may be, where that is a list of words. */
  readonly options: readonly string[] | null
}

/** A value as someone typed it: JSON where it is some, text otherwise. */
export function parseValue(text: string, { value: before, options }: Typed): unknown {
  const trimmed = text.trim()
  // One of the words may be “null”.
  if (typeof before === 'string' && options?.includes(trimmed) === true) return trimmed
  if (typeof before === 'number' && /^-?\d+,\d+$/.test(trimmed)) return Number(trimmed.replace(',', '.'))
  try {
    const value: unknown = JSON.parse(trimmed)
    // A name that happens to look like a number stays a name.
    return typeof before === 'string' && typeof value !== 'string' && value !== null ? trimmed : value
  } catch {
    return jsonless(trimmed)
  }
}

/** 1e-4 is JSON, .5 and +2 are not; they mean numbers all the same. */
const jsonless = (text: string): unknown =>
  /^[+-]?\.?\d[\d.]*(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : text

/** What the settings are now and what they will be; those that change nothing are left out. */
export function shownChanges(rows: readonly SettingRow[], changes: Changes): readonly ShownChange[] {
  return Object.entries(changes).flatMap(([path, after]) => {
    const before = rows.find((row) => row.path === path)?.value
    return isSame(before, after) ? [] : [{ path, before, after }]
  })
}

interface Length {
  /** Of the whole run; null: not known yet. */
  readonly steps: number | null
  readonly stages: number
}

/**
 * A fork from the last checkpoint has nothing left to do: it is given as many steps again. Runs of several stages are as
 * long as their stages.
 */
export function lengthChange({ steps, stages }: Length, step: number): Changes {
  if (stages > 0 || steps === null || step < steps) return {}
  return { steps: step + steps }
}

export interface MemoryProposal {
  readonly words: string
  /** What it costs. */
  readonly price: string
  readonly changes: Changes
}

type MemorySettings = {
  readonly optimization: Pick<RunConfig['optimization'], 'tokenBudget' | 'memory'>
  readonly rollout: Pick<RunConfig['rollout'], 'maxNewTokens' | 'groupSize'>
}

/** Tokens learned from at once: the least that the engine takes by itself, and where proposals end. */
const [usualTokens, leastTokens] = [512, 64]

/** What makes a run fit into less memory, that which costs least first. */
export function memoryProposals({ optimization, rollout }: MemorySettings): readonly MemoryProposal[] {
  const { tokenBudget, memory } = optimization
  const { maxNewTokens, groupSize } = rollout
  const half = (value: number) => Math.max(1, Math.floor(value / 2))
  const proposals: (MemoryProposal | null)[] = [
    memory === 'recompute'
      ? null
      : {
          words: 'Compute activations again instead of keeping them.',
          price: 'About a third more time for learning; the result stays the same.',
          changes: { 'optimization.memory': 'recompute' },
        },
    tokenBudget !== null && tokenBudget <= leastTokens
      ? null
      : {
          words: `Learn from ${String(half(tokenBudget ?? usualTokens))} tokens at once instead of ${tokenBudget === null ? 'as many as are fastest' : String(tokenBudget)}.`,
          price: 'Somewhat slower; the result stays the same.',
          changes: { 'optimization.tokenBudget': half(tokenBudget ?? usualTokens) },
        },
    maxNewTokens <= 1
      ? null
      : {
          words: `Cut completions off at ${String(half(maxNewTokens))} tokens instead of ${String(maxNewTokens)}.`,
          price: 'Longer answers are lost.',
          changes: { 'rollout.maxNewTokens': half(maxNewTokens) },
        },
    groupSize === null || groupSize < 4
      ? null
      : {
          words: `Compare ${String(half(groupSize))} completions per prompt instead of ${String(groupSize)}.`,
          price: 'A noisier comparison within each group.',
          changes: { 'rollout.groupSize': half(groupSize) },
        },
  ]
  return proposals.filter((proposal) => proposal !== null)
}

/** The config with changes applied, to begin anew where there is no checkpoint yet. */
export function changedConfig(config: unknown, changes: Changes): unknown {
  return Object.entries(changes).reduce(
    (changed, [path, value]) => withValue(changed, path.split('.'), value),
    config,
  )
}

function withValue(config: unknown, [name = '', ...rest]: readonly string[], value: unknown): unknown {
  const object =
    typeof config === 'object' && config !== null ? (config as Readonly<Record<string, unknown>>) : {}
  return { ...object, [name]: rest.length === 0 ? value : withValue(object[name], rest, value) }
}
