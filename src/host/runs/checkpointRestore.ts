/** Restores a run's state from a checkpoint, by role. */
import type { Checkpoint } from '#host/models/checkpoints.ts'

export interface RestoreOptions {
  /** Take the optimizer's moments too. */
  readonly loadOptimizer: boolean
  /** The reference policy becomes the checkpoint's actor instead of its reference. */
  readonly overwriteReference: boolean
  /** A critic that was not kept begins as the checkpoint's actor. */
  readonly overwriteCritic: boolean
}

/** Restores everything: the run goes on as if it had never stopped. */
export const exactResume: RestoreOptions = {
  loadOptimizer: true,
  overwriteReference: false,
  overwriteCritic: true,
}

/** Null where the run's own reference or critic stays, and where the optimizer begins anew. */
export interface RestoredState extends Pick<Checkpoint, 'actor' | 'reference' | 'critic' | 'optimizer'> {
  /** Sentences on what could not be taken over. */
  readonly warnings: readonly string[]
}

/** A critic on disk always wins; only one that is missing is replaced by the actor. */
export function stateToRestore(checkpoint: Checkpoint, options: RestoreOptions): RestoredState {
  const { actor, trainer } = checkpoint
  const optimizer = options.loadOptimizer ? checkpoint.optimizer : null
  const isMissing = options.loadOptimizer && optimizer === null
  return {
    actor,
    reference: options.overwriteReference ? actor : checkpoint.reference,
    critic: checkpoint.critic ?? (options.overwriteCritic ? { adapter: actor, valueHead: null } : null),
    optimizer,
    warnings: isMissing
      ? [
          `The checkpoint of step ${trainer.step} was saved without the optimizer, which starts from zero: the run will differ from one that never stopped.`,
        ]
      : [],
  }
}
