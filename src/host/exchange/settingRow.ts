import { algorithms } from '#rl/algorithms/registry.ts'
import type { Algorithm } from '#rl/algorithms/define.ts'
import type { ToolId } from '#shared/tools.ts'
import type { Link } from './links.ts'

/** One of our settings, and its name in each tool. */
export interface SettingRow extends Partial<Readonly<Record<ToolId, Link>>> {
  /** Dotted name in our run config. */
  readonly ours: string
  readonly for?: readonly string[]
  /** Value with which nothing is lost in a tool that has no such setting; absent: our default. */
  readonly off?: unknown
  /** A setting of ours without which (0, false, null) this one does nothing, so that nothing is lost either. */
  readonly needs?: string
  /** Already in the data, the rewards or the files of a project, or a matter of memory and speed alone. */
  readonly isCarried?: true
}

/** A setting of a tool that is none here. */
export interface FixedSetting {
  readonly name: string
  /** The equivalent of a run here; absent: the setting is read and never taken over. */
  readonly value?: unknown
  readonly for?: readonly string[]
  /** Why another value is not taken over. */
  readonly because: string
  /** Another setting that is true where this one does nothing. */
  readonly unless?: string
  /** The tool's default, where it differs from Turnwise's. */
  readonly initial?: unknown
}

const idsOf = (belongs: (algorithm: Algorithm) => boolean): readonly string[] =>
  algorithms.filter(belongs).map(({ id }) => id)

/** Algorithms with GRPO's settings of groups. */
export const groups = idsOf(({ settings }) => Object.hasOwn(settings, 'advantageNorm'))
export const generating = idsOf(({ experience }) => experience === 'rollout')
/** The others that generate. */
export const others = generating.filter((id) => !groups.includes(id))
export const answering = idsOf(({ experience }) => experience !== 'rollout')

/** Completions per prompt where a file says nothing. */
export interface DefaultSizes {
  readonly trl: number
  readonly agilerl: number
}

/** Rows for the algorithms that generate. */
export const perTrainer = (
  ours: string,
  links: (defaults: DefaultSizes) => Omit<SettingRow, 'ours' | 'for'>,
): SettingRow[] => [
  { ours, for: groups, ...links({ trl: 8, agilerl: 8 }) },
  { ours, for: others.filter((id) => id !== 'ppo'), ...links({ trl: 2, agilerl: 1 }) },
  // TRL's PPO has one completion per prompt, and no setting of it.
  { ours, for: ['ppo'], ...links({ trl: 1, agilerl: 1 }) },
]
