/** Turns a definition into a plug-in whose settings type is erased, so that all plug-ins fit into one list. */
import { conflict, refuse } from '#shared/config/problems.ts'
import type { ExperienceKind } from '#shared/experience.ts'
import { parseSettings, type SettingsOf, type SettingsTable } from '#shared/config/settings.ts'
import { minibatchLoss, type LossFormula } from './terms/loss.ts'
import type {
  Advantages,
  ConfiguredAlgorithm,
  Experience,
  GroupAcceptance,
  LearningRow,
  Needs,
} from './types.ts'

/** An algorithm is its settings, its advantage and its loss. */
export interface AlgorithmDefinition<Table extends SettingsTable> {
  readonly id: string
  readonly title: string
  /** One sentence for the list in the window. */
  readonly description: string
  /** Paper. */
  readonly source: string
  /** Kind of trajectories that it learns from. */
  readonly experience: ExperienceKind
  /** Trajectories per prompt. */
  readonly groupSize: { readonly default: number; readonly minimum: number }
  readonly settings: Table
  /** Conflicts between settings that are each in range. */
  conflicts?(settings: NoInfer<SettingsOf<Table>>): readonly (readonly [setting: string, message: string])[]
  /** Quantities to compute before advantage and loss are called; anything absent is not needed, but rewards of completions are. */
  needs(settings: NoInfer<SettingsOf<Table>>): Partial<Needs>
  /** Computes advantages of a whole rollout batch, before it is split; absent: answers are learned as given. */
  advantages?(batch: readonly Experience[], settings: NoInfer<SettingsOf<Table>>): Advantages
  /** null or absent: every group is kept. */
  acceptance?(settings: NoInfer<SettingsOf<Table>>): GroupAcceptance | null
  /**
   * Fixes the weights from the masks of the whole minibatch; the formula then gives what each trajectory (or pair)
   * adds.
   */
  loss(minibatch: readonly LearningRow[], settings: NoInfer<SettingsOf<Table>>): LossFormula
}

export interface Algorithm extends Pick<
  AlgorithmDefinition<SettingsTable>,
  'id' | 'title' | 'description' | 'source' | 'experience' | 'groupSize' | 'settings'
> {
  /** Fills in defaults; throws a ConfigError that names every invalid or conflicting setting. */
  configure(settings: Readonly<Record<string, unknown>>): ConfiguredAlgorithm
}

/** An algorithm whose advantages are computed synchronously. */
interface ConfiguredBuiltIn extends ConfiguredAlgorithm {
  advantages(batch: readonly Experience[]): Advantages
}

export interface BuiltInAlgorithm extends Algorithm {
  configure(settings: Readonly<Record<string, unknown>>): ConfiguredBuiltIn
}

const path = 'algorithm.settings'

export const noNeeds: Needs = {
  behavior: false,
  ratio: false,
  behaviorEntropies: false,
  reference: false,
  values: false,
  greedyBaseline: false,
  mismatched: false,
  rewards: false,
  teacher: false,
  likeliest: 0,
  entropyGradient: false,
  unit: 1,
}

export function defineAlgorithm<const Table extends SettingsTable>(
  definition: AlgorithmDefinition<Table>,
): BuiltInAlgorithm {
  return {
    ...definition,
    configure(given) {
      const values = parseSettings(definition.settings, given, path)
      refuse((definition.conflicts?.(values) ?? []).map(([name, text]) => conflict(`${path}.${name}`, text)))
      const isActing = definition.experience === 'rollout'
      const needs = { ...noNeeds, rewards: isActing, ...definition.needs(values) }
      return {
        id: definition.id,
        experience: definition.experience,
        groupSize: definition.groupSize,
        needs,
        acceptance: definition.acceptance?.(values) ?? null,
        // Without other terms the advantage is a factor of every coefficient.
        needsAdvantage: isActing && !needs.reference && !needs.entropyGradient && !needs.values,
        advantages: (batch) => definition.advantages?.(batch, values) ?? ones(batch),
        minibatchLoss: (minibatch) => minibatchLoss(definition.loss(minibatch, values), needs.unit),
      }
    },
  }
}

const ones = (batch: readonly Experience[]): Advantages => ({
  tokens: batch.map(({ actionMask }) => Float64Array.from(actionMask)),
  returns: null,
  kept: batch.map((_, i) => i),
})
