/**
 * Resolves a run's config to its algorithms. A user-written loss is loaded and traced; from then on it is an algorithm
 * like any other.
 */
import { codeReference } from '#shared/config/codeReference.ts'
import { AppError, invalidConfig } from '#shared/errors.ts'
import { parseSettings } from '#shared/config/settings.ts'
import { headNames, type LossDescription, type LossProgram, readProgram } from '#shared/losses.ts'
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import type { Algorithm } from '#rl/algorithms/define.ts'
import { algorithmById, type AlgorithmById, builtInAlgorithm } from '#rl/algorithms/registry.ts'
import { sampleBatch } from '#rl/losses/sampleBatch.ts'
import { checkLoss, type LossCheckOptions, unsoundLoss } from '#rl/losses/check.ts'
import { inputsOf, pruned } from '#rl/losses/program.ts'
import { settingsTable, weighing, writtenAlgorithm } from '#rl/losses/written.ts'
import type { SandboxFailure } from '#host/sandbox/answers.ts'
import { readRewardCode, requireSandboxed, runAlgorithmCode, type UserCode } from './rewardCode.ts'
import { lossLimits } from '#host/processes/limits.ts'
import { openSandbox, type Sandbox } from '#host/sandbox/sandbox.ts'

/**
 * The algorithms of a run. Disposal ends the sandboxes that compute advantages; everything else about the algorithms
 * still works.
 */
export interface RunAlgorithms extends AsyncDisposable {
  readonly byId: AlgorithmById
}

/**
 * Loads the algorithms of a run's stages. `runDirectory`: where the run keeps its copy of the code; null: as it is on
 * disk now. Errors: AppError 'file/…', 'sandbox/failed' for
 * code that does not load, 'config/invalid' for settings, 'loss/failed' for a loss that the policy cannot learn from.
 */
export async function resolveAlgorithms(
  config: RunConfig,
  runDirectory: string | null,
): Promise<RunAlgorithms> {
  const opened = new Map<string, OpenLoss>()
  const close = async () => {
    for (const { sandbox } of opened.values()) await sandbox[Symbol.asyncDispose]()
  }
  try {
    for (const { algorithm } of stagesOf(config)) {
      const reference = codeReference(algorithm.id)
      if (reference === null) continue
      const source =
        runDirectory === null ? readRewardCode(reference) : runAlgorithmCode(algorithm.id, runDirectory)
      const loss = opened.get(algorithm.id) ?? (await openLoss(algorithm.id, source))
      opened.set(algorithm.id, loss)
      await traceInto(loss, algorithm.settings)
    }
    const byId: AlgorithmById = (id) => opened.get(id)?.algorithm ?? algorithmById(id)
    return { byId, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Code of a loss, loaded. */
export interface OpenLoss {
  readonly sandbox: Sandbox
  readonly description: LossDescription
  readonly algorithm: Algorithm
  /** Traced programs, by settings as JSON. */
  readonly programs: Map<string, LossProgram>
}

/** `id`: as a config names it. Errors: AppError 'sandbox/failed', 'config/invalid' for code that is not a loss. */
export async function openLoss(id: string, source: UserCode, open = openSandbox): Promise<OpenLoss> {
  const sandbox = await open(requireSandboxed(source, 'A loss'), lossLimits)
  const description = sandbox.loss
  if (description == null) {
    await sandbox[Symbol.asyncDispose]()
    throw invalidConfig(
      `${id} is not a loss.`,
      'The default export of a loss is defineLoss({ settings, loss({ logp, oldLogp, advantages, mask, … }) { … } }).',
    )
  }
  const programs = new Map<string, LossProgram>()
  const hasAdvantages = sandbox.functions.includes('advantages')
  const algorithm = writtenAlgorithm(
    {
      id,
      description,
      programOf(settings) {
        const program = programs.get(JSON.stringify(settings))
        if (program === undefined) throw new Error(`Expected ${id} to be traced with these settings.`)
        return program
      },
      advantagesOf: hasAdvantages
        ? async (rows, settings) => {
            const answer = await sandbox.advantages({ rows, settings })
            if ('failure' in answer) throw failed(`The advantages of ${id} failed`, answer.failure)
            return (answer.json as { readonly rows?: unknown }).rows
          }
        : null,
    },
    builtInAlgorithm,
  )
  return { sandbox, description, algorithm, programs }
}

/** Traces the loss with these settings, and refuses it if the policy cannot learn from it. Errors: AppError. */
export async function traceInto(
  loss: OpenLoss,
  given: Readonly<Record<string, unknown>>,
): Promise<LossProgram> {
  const program = await traced(loss, given)
  const fault = checkLoss(program, sampleBatch(), checkOptions(loss))
  if (fault !== null) throw unsoundLoss(loss.algorithm.title, fault)
  return program
}

export const checkOptions = ({ description: { experience } }: OpenLoss): LossCheckOptions => ({
  unit: experience === 'preferences' ? 2 : 1,
  experience,
})

/**
 * Traces the loss without refusing it. Errors: AppError for code that fails, settings out of range, or a weight that
 * depends on the policy.
 */
export async function traced(
  { sandbox, description, algorithm, programs }: OpenLoss,
  given: Readonly<Record<string, unknown>>,
): Promise<LossProgram> {
  // Its own defaults have to keep to the limits that it gives.
  const defaults = Object.fromEntries(
    Object.entries(description.settings).map(([name, setting]) => [name, setting.default]),
  )
  if (description.like !== null) builtInAlgorithm(description.like.algorithm)
  const settings = parseSettings(settingsTable(description), { ...defaults, ...given }, 'algorithm.settings')
  const answer = await sandbox.trace(settings)
  if ('failure' in answer) throw failed(`The loss ${algorithm.title} cannot be traced`, answer.failure)
  const recorded = readProgram(answer.json)
  if (recorded === null) throw new AppError('loss/failed', `What ${algorithm.title} recorded cannot be read.`)
  const program = pruned(recorded)
  const weighed = inputsOf(weighing(program))
  const head = [...headNames, 'oldLogp', 'samplerLogp', 'correction'].find((name) =>
    weighed.has(name as never),
  )
  if (head !== undefined) {
    throw new AppError(
      'loss/failed',
      `The weight of a micro-batch depends on ${head}, which is not known before the policy has scored it.`,
      'lossWeight may depend only on mask, turns, groups and rewards.',
    )
  }
  programs.set(JSON.stringify(settings), program)
  return program
}

/** The cause says where in the code. */
function failed(what: string, failure: SandboxFailure): AppError {
  const { message, line, column } = failure
  const where = line === null ? '' : ` (line ${line}, column ${column ?? 1})`
  return new AppError('loss/failed', `${what}${where}: ${message}`, undefined, failure)
}
