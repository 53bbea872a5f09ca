/** Decides which training is meant where a script starts several programs. */
import { AppError } from '#shared/errors.ts'
import { trainerNamed, trainers } from './trlAlgorithm.ts'

export interface Started {
  readonly program: { readonly name: string }
  /** What it says it trains with besides its name, such as a `stage`; null: nothing. */
  readonly stage: string | null
}

/**
 * The program whose settings count: the only training, or that of the `wanted` trainer. Of several that say the same, the first.
 * Errors: AppError 'config/invalid' where trainings of several kinds are started and none of them is wanted.
 */
export function meantProgram<Each extends Started>(
  started: readonly [Each, ...Each[]],
  wanted: string | null,
): Each {
  const trainings = started.flatMap((each) => {
    const trainer = trainerNamed(each.program.name) ?? each.stage
    return trainer === null ? [] : [{ each, trainer }]
  })
  const [first] = trainings
  if (first === undefined) return started[0]
  const kinds = [...new Set(trainings.map(({ trainer }) => trainer))]
  if (kinds.length === 1) return first.each
  const meant = trainings.find(({ trainer }) => trainer === wanted)
  if (meant !== undefined) return meant.each
  const names = [...new Set(trainings.map(({ each, trainer }) => described(each, trainer)))]
  const choices = kinds.filter((kind) => trainers.some((known) => known === kind))
  throw new AppError(
    'config/invalid',
    `The script starts several trainings, ${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}, each with its own settings.`,
    `Choose the algorithm whose settings are meant: ${choices.join(', ')}; on the command line with --algorithm.`,
  )
}

const described = ({ program, stage }: Started, trainer: string): string =>
  stage === null || program.name.includes(trainer) ? program.name : `${program.name} (stage ${stage})`
