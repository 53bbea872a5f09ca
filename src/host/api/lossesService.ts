/** User-written losses: checked and drawn before anything is trained with them. */
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import type { lossesApi } from '#shared/api/losses.ts'
import { fieldsOf } from '#shared/config/fields.ts'
import { AppError } from '#shared/errors.ts'
import type { LossAxis, LossProgram } from '#shared/losses.ts'
import { builtInAlgorithm } from '#rl/algorithms/registry.ts'
import type { Needs } from '#rl/algorithms/types.ts'
import { checked } from '#rl/losses/check.ts'
import { axisOf, type Curve, curvesOf } from '#rl/losses/curves.ts'
import { sampleBatch } from '#rl/losses/sampleBatch.ts'
import { settingsTable } from '#rl/losses/written.ts'
import type { Host } from '#host/host.ts'
import { sourceOf, withFile } from '#host/code/rewardVersions.ts'
import type { SandboxFailure } from '#host/sandbox/answers.ts'
import { type CodeSource, failureOf } from '#host/sandbox/sandbox.ts'
import { checkOptions, openLoss, type OpenLoss, traced } from '#host/code/resolveAlgorithms.ts'

export const lossesService = ({ store }: Pick<Host, 'store'>): Handlers<typeof lossesApi> => ({
  check: ({ code, settings }) => checkCode(sourceOf(store, code), settings),

  async draw({ code, settings, compare, range }) {
    await using loaded = await load(sourceOf(store, code), settings)
    if (loaded.program === null) return { problem: loaded.problem }
    const algorithm = loaded.loss.algorithm.configure(settings)
    const axis = axisOf(algorithm)
    const points = pointsOf(range ?? defaultRange[axis])
    const other = compare === null ? null : builtInAlgorithm(compare).configure({})
    return {
      axis,
      points,
      curves: curvesOf(algorithm, points.map(bounded[axis])).map(packed),
      compared:
        other === null || axisOf(other) !== axis
          ? null
          : curvesOf(other, points.map(bounded[axis])).map(packed),
    }
  },
})

type AlgorithmEntry = OutputOf<Api, 'settings.algorithms'>[number]

/**
 * Lists the newest versions of the user's losses, which New run offers as algorithms; those that do not load are left
 * out. Code is loaded once in the life of a host.
 */
export function ownAlgorithms({ store, dataDirectory }: Pick<Host, 'store' | 'dataDirectory'>) {
  const described = new Map<string, Promise<Omit<AlgorithmEntry, 'id' | 'title'> | null>>()
  return async (): Promise<AlgorithmEntry[]> => {
    const entries: AlgorithmEntry[] = []
    for (const { id: rewardId, name: title } of store.rewards.list('loss')) {
      const [newest] = store.rewards.versions(rewardId)
      if (newest === undefined) continue
      const known = described.get(newest.hash) ?? algorithmOf(newest)
      described.set(newest.hash, known)
      const entry = await known
      if (entry !== null) entries.push({ id: withFile({ dataDirectory }, newest).file, title, ...entry })
    }
    return entries
  }
}

async function algorithmOf(source: CodeSource): Promise<Omit<AlgorithmEntry, 'id' | 'title'> | null> {
  try {
    const loss = await openLoss('The code', source)
    await using _ = loss.sandbox
    const { description, experience, groupSize, settings } = loss.algorithm
    const needsRewards = await readsRewards(loss)
    const fields = fieldsOf(settings, 'algorithm.settings')
    return { description, experience, groupSize, needsRewards, settings: fields }
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** Code that cannot be traced says nothing of what it reads. */
async function readsRewards(loss: OpenLoss): Promise<boolean> {
  try {
    await traced(loss, {})
    return loss.algorithm.configure({}).needs.rewards
  } catch (error) {
    if (error instanceof AppError) return true
    throw error
  }
}

export type LossCheck = OutputOf<Api, 'losses.check'>

/** Errors: none caused by the code; its problems are part of the answer. */
export async function checkCode(
  source: CodeSource,
  settings: Readonly<Record<string, unknown>>,
): Promise<LossCheck> {
  await using loaded = await load(source, settings)
  const batch = sampleBatch()
  return {
    description: loaded.loss && describe(loaded.loss),
    problem: loaded.problem,
    recorded: loaded.program && recordedWords(loaded.loss, loaded.program, settings),
    checks: loaded.program === null ? [] : [...checked(loaded.program, batch, checkOptions(loaded.loss))],
    batch: batch.map(({ turnIds, advantages }) => ({
      turns: Array.from(turnIds ?? []),
      advantages: Array.from(advantages),
    })),
  }
}

type Loaded = AsyncDisposable &
  (
    | { readonly loss: OpenLoss; readonly program: LossProgram; readonly problem: null }
    | { readonly loss: OpenLoss | null; readonly program: null; readonly problem: SandboxFailure }
  )

/** Opens and traces the code, as far as possible. */
async function load(source: CodeSource, settings: Readonly<Record<string, unknown>>): Promise<Loaded> {
  let loss: OpenLoss | null = null
  const close = async () => loss?.sandbox[Symbol.asyncDispose]()
  try {
    loss = await openLoss('The code', source)
    return { loss, program: await traced(loss, settings), problem: null, [Symbol.asyncDispose]: close }
  } catch (error) {
    if (!(error instanceof AppError)) {
      await close()
      throw error
    }
    return { loss, program: null, problem: problemOf(error), [Symbol.asyncDispose]: close }
  }
}

/** The code's own failure, if it is one. */
function problemOf(error: AppError): SandboxFailure {
  if (error.cause !== undefined || error.code === 'sandbox/failed') return failureOf(error)
  const message = error.hint === undefined ? error.message : `${error.message} ${error.hint}`
  return { kind: 'wrong-type', message, line: null, column: null }
}

function describe({ description, algorithm, sandbox }: OpenLoss): NonNullable<LossCheck['description']> {
  const { title, experience, like } = description
  const others = builtInAlgorithm(like?.algorithm ?? 'grpo').title
  return {
    title: title ?? null,
    description: description.description ?? '',
    source: description.source ?? '',
    experience,
    groupSize: algorithm.groupSize.default,
    advantages: sandbox.functions.includes('advantages')
      ? 'computed by this code'
      : experience === 'rollout'
        ? `those of ${others}`
        : 'none: every given answer is learned',
    settings: fieldsOf(settingsTable(description), 'algorithm.settings'),
  }
}

const recordedWords = (
  { algorithm }: OpenLoss,
  { nodes, metrics }: LossProgram,
  settings: Readonly<Record<string, unknown>>,
): NonNullable<LossCheck['recorded']> => {
  const { needs } = algorithm.configure(settings)
  return {
    operations: nodes.filter(({ op }) => op !== 'input' && op !== 'number').length,
    needs: needWords.flatMap(([need, words]) => (needs[need] === true ? [words] : [])),
    metrics: Object.keys(metrics),
  }
}

const needWords: readonly (readonly [keyof Needs, string])[] = [
  ['ratio', 'log-probabilities from before the update'],
  ['reference', 'the reference policy'],
  ['values', 'a critic'],
  ['greedyBaseline', 'a greedy answer to each prompt'],
  ['behaviorEntropies', 'entropies from before the update'],
  ['entropyGradient', 'gradients through the entropy'],
]

// ---- curves ----

const defaultRange: Readonly<Record<LossAxis, readonly [number, number]>> = {
  ratio: [0, 2],
  margin: [-10, 10],
  logp: [-8, 0],
}

const intervals = 160

const pointsOf = ([from, to]: readonly [number, number]): number[] =>
  Array.from({ length: intervals + 1 }, (_, i) => from + ((to - from) * i) / intervals)

/** A ratio is above 0 and a log-probability below, so the end of the axis shows the curve at a point just inside. */
const bounded: Readonly<Record<LossAxis, (x: number) => number>> = {
  ratio: (x) => Math.max(x, 1e-6),
  margin: (x) => x,
  logp: (x) => Math.min(x, -1e-6),
}

const packed = ({ of, loss, gradient }: Curve) => ({
  of,
  loss: loss.map(finite),
  gradient: gradient.map(finite),
})
const finite = (x: number): number | null => (Number.isFinite(x) ? x : null)
