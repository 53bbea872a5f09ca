/** Turns a definition into a plug-in whose settings type is no longer visible, so that all fit one list. */
import { AppError } from '#shared/errors.ts'
import { checkSettings, type SettingsTable } from '#shared/settings.ts'
import type { AlgorithmDefinition, ConfiguredAlgorithm } from './types.ts'

export interface Algorithm extends Pick<
  AlgorithmDefinition<SettingsTable>,
  'id' | 'title' | 'description' | 'source' | 'experience' | 'groupSize' | 'settings'
> {
  /** Fills in defaults; throws `config/invalid` naming every setting that is wrong or contradicts another. */
  configure(settings: Readonly<Record<string, unknown>>): ConfiguredAlgorithm
}

const path = 'algorithm.settings'

export function defineAlgorithm<const Table extends SettingsTable>(
  definition: AlgorithmDefinition<Table>,
): Algorithm {
  return {
    ...definition,
    configure(given) {
      const { values, problems } = checkSettings(definition.settings, given, path)
      refuse(definition.title, problems)
      refuse(definition.title, definition.conflicts?.(values).map((sentence) => `${path}.${sentence}`) ?? [])
      return {
        id: definition.id,
        experience: definition.experience,
        groupSize: definition.groupSize,
        needs: definition.needs(values),
        acceptance: definition.acceptance?.(values) ?? null,
        advantages: (batch) => definition.advantages(batch, values),
        minibatchLoss: (minibatch) => definition.minibatchLoss(minibatch, values),
      }
    },
  }
}

function refuse(title: string, problems: readonly string[]): void {
  if (problems.length === 0) return
  throw new AppError('config/invalid', `The settings of ${title} are wrong: ${problems.join(' ')}`)
}
