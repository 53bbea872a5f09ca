/** Rows of the tables of settings. */
import { algorithms } from '#rl/algorithms/registry.ts'
import type { Algorithm } from '#rl/algorithms/define.ts'
import type { ToolId } from '#shared/tools.ts'
import type { Link } from './links.ts'

/** One of our settings. */
export interface OurSetting {
  /** Dotted name in our run config. */
  readonly ours: string
  readonly for?: readonly string[]
  /** Value with which nothing is lost in a tool that has no such setting; absent: our default. */
  readonly off?: unknown
  /** Setting of ours without which (0, false, null) this one does nothing, so that nothing is lost either. */
  readonly needs?: string
  /** Already in the data, the rewards or the files of a project, or a matter of memory and speed alone. */
  readonly isCarried?: true
}

/** One of our settings as a tool has it, for the algorithms in `when`; absent: for all. */
export interface ToolSetting {
  readonly ours: string
  readonly when?: readonly string[]
  readonly link: Link
}

/** A setting for an algorithm, with its name in each tool that has it. */
export type SettingRow = OurSetting & Partial<Readonly<Record<ToolId, Link>>>

/** Name here, name there, and the algorithms that have it; without a list, all of them. */
type Row = readonly [ours: string, link: Link, when?: readonly string[]]

export const ofAlgorithm = (name: string): string => `algorithm.settings.${name}`

/** `own`: settings of algorithms, by the last part of their names. */
export const rowsOf = (common: readonly Row[], own: readonly Row[]): readonly ToolSetting[] => [
  ...common.map(([ours, link, when]) => ({ ours, link, ...(when === undefined ? {} : { when }) })),
  ...own.map(([ours, link, when]) => ({
    ours: ofAlgorithm(ours),
    link,
    ...(when === undefined ? {} : { when }),
  })),
]

/** Setting of a tool that does not exist here. */
export interface FixedSetting {
  readonly name: string
  /** The equivalent of a run here; absent: the setting is read and never taken over. */
  readonly value?: unknown
  readonly for?: readonly string[]
  /** Reason why another value is not taken over. */
  readonly because: string
  /** Setting that is true where this one does nothing. */
  readonly unless?: string
  /** The tool's default, where it differs from Turnwise's. */
  readonly initial?: unknown
}

const idsOf = (belongs: (algorithm: Algorithm) => boolean): readonly string[] =>
  algorithms.filter(belongs).map(({ id }) => id)

/** Algorithms with GRPO's settings of groups. */
export const groups = idsOf(({ settings }) => Object.hasOwn(settings, 'advantageNorm'))
export const generating = idsOf(({ experience }) => experience === 'rollout')
/** Algorithms that generate without GRPO's settings of groups. */
export const others = generating.filter((id) => !groups.includes(id))
export const answering = idsOf(({ experience }) => experience !== 'rollout')
export const pairing = idsOf(({ experience }) => experience === 'preferences')
/** Algorithms that learn which answers are preferred. */
export const preferring = [...pairing, 'kto']

/** Algorithms that generate, except PPO. */
export const withoutPpo = generating.filter((id) => id !== 'ppo')
export const ungrouped = others.filter((id) => id !== 'ppo')

/** Makes settings of names with spaces between. `value`: what a run here comes to. */
type Naming = (names: TemplateStringsArray) => FixedSetting[]

export const fixed =
  (value: unknown, because: string, only?: readonly string[]): Naming =>
  (names) =>
    unread(because)(names).map((row) => ({ ...row, value, ...(only === undefined ? {} : { for: only }) }))

/** Settings that are read and never taken over. */
export const unread =
  (because: string): Naming =>
  ([names = '']) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => ({ name, because }))

/** Reasons why settings of several tools do not exist here. */
export const reasons = {
  machine: 'it affects only memory and speed, which Turnwise chooses for the machine',
  engine: 'the run generates itself unless `rollout.server` names a server',
  quantised: 'a base in 8 or 4 bits is `base.precision`, rounded in Turnwise’s own way',
  oneWay: 'Turnwise has no such variant',
  display: 'it changes what is shown, not what is learned',
  results: 'Turnwise chooses where to write results',
  rows: 'rows are prepared when they are imported with `turnwise dataset import`',
  rewards: 'rewards are functions in Turnwise: set them in `rewards`',
  optimizer: 'Turnwise’s optimizer is AdamW',
  answers: 'Turnwise learns only the answer',
  code: 'code that comes with a model is never run',
  precision: 'parameters and gradients are 32-bit floats in Turnwise',
  template: 'Turnwise uses the chat template of the model itself',
  packing: 'Turnwise does not concatenate rows',
  allWeights: (tool: string) =>
    `${tool} would train all weights; Turnwise trains a LoRA adapter, by default of all linear layers`,
}
