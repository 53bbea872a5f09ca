/** Turns a definition into a plug-in whose settings type is no longer visible, so that all fit one list. */
import { AppError } from '#shared/errors.ts'
import { checkSettings, type SettingsTable } from '#shared/settings.ts'
import type { AlgorithmDefinition, ConfiguredAlgorithm } from './types.ts'

export interface Algorithm extends Pick<
  AlgorithmDefinition<SettingsTable>,
  'id' | 'title' | 'description' | 'source' | 'experience' | 'groupSize' | 'settings'
> {
  /** Fills in defaults; throws `config/invalid` naming every setting that is wrong. */
  configure(settings: Readonly<Record<string, unknown>>): ConfiguredAlgorithm
}

export function defineAlgorithm<const Table extends SettingsTable>(
  definition: AlgorithmDefinition<Table>,
): Algorithm {
  return {
    ...definition,
    configure(given) {
      const { values, problems } = checkSettings(definition.settings, given, 'algorithm.settings')
      if (problems.length > 0) {
        throw new AppError(
          'config/invalid',
          `The settings of ${definition.title} are wrong: ${problems.join(' ')}`,
        )
      }
      return {
        id: definition.id,
        groupSize: definition.groupSize,
        needs: definition.needs(values),
        advantages: (batch) => definition.advantages(batch, values),
        minibatchLoss: (minibatch) => definition.minibatchLoss(minibatch, values),
      }
    },
  }
}
