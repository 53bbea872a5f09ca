/**
 * Resolves a run's config to its environment: built in, or user code in a sandbox. Reading guide of this folder:
 *
 *   resolveEnvironment.ts  (here) what a run plays
 *   retrievers.ts          what the search environment searches in; corpus.ts: documents of a person's own
 *   playEpisode.ts         an episode played by hand
 */
import { codeReference } from '#shared/config/codeReference.ts'
import { invalidConfig } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { TaskServices } from '#rl/environments/tasks/common.ts'
import { builtInEnvironment, builtInEnvironments } from '#rl/environments/tasks/registry.ts'
import { withRowSettings } from '#rl/environments/rowSettings.ts'
import type { Environment } from '#rl/rollout/environment.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { countOutboundRequest } from '#host/outboundRequests.ts'
import { namedPlace } from '#host/files/ownFiles.ts'
import { openMcp } from '#host/python/mcpEnvironment.ts'
import { openPython, type PythonCode, pythonOptions } from '#host/python/pythonCode.ts'
import { kindTitles, openSandbox, type Sandbox } from '#host/sandbox/sandbox.ts'
import { requireSettings } from '#host/sandbox/scoringCode.ts'
import { readRewardCode, runEnvironmentCode, type UserCode } from './rewardCode.ts'
import { requireCorpus } from './corpus.ts'
import { openRetriever, requestCounter, type RetrieverPlace, searches, soughtIn } from './retrievers.ts'

type EnvironmentEntry = NonNullable<RunConfig['environment']>

export interface ResolvedEnvironment extends AsyncDisposable {
  /** null if the run has none. */
  readonly environment: Environment | null
}

/**
 * Errors: AppError 'config/invalid' for what is not there, 'sandbox/failed' for code that does not load, 'data/invalid' for
 * documents that are none, 'python/not-allowed', 'file/…'.
 */
export async function resolveEnvironment(
  config: EnvironmentConfig,
  runDirectory: string,
  place: EnvironmentPlace,
): Promise<ResolvedEnvironment> {
  const entry = config.environment
  if (entry === null) return { environment: null, [Symbol.asyncDispose]: async () => {} }
  const code = runEnvironmentCode(entry, runDirectory)
  if (code === null) return openBuiltIn(entry, place)
  return openWritten(entry, code, {
    config,
    consents: place.consents ?? null,
    onRequest: requestCounter(place),
  })
}

export interface EnvironmentPlace extends RetrieverPlace {
  /** Path of this machine's consents to Python; absent: no Python runs. */
  readonly consents?: string | null | undefined
}

type EnvironmentConfig = Pick<RunConfig, 'environment' | 'rewardLimits' | 'python' | 'data' | 'rewards'>

interface WrittenPlace {
  readonly config: EnvironmentConfig
  readonly consents: string | null
  readonly onRequest: () => void
}

/** Code of the user, in a sandbox unless it is Python; or servers. */
async function openWritten(
  entry: EnvironmentEntry,
  source: UserCode,
  { config, consents, onRequest }: WrittenPlace,
): Promise<ResolvedEnvironment> {
  if (source.language === 'json') {
    const options = { entry, form: config.data.prompt, isScored: config.rewards.length > 0 }
    return openMcp(source, options, { consents, environment: process.env, onRequest })
  }
  const code =
    source.language === 'py'
      ? await openPython(source, pythonOptions(config, consents))
      : await openSandbox(source, config.rewardLimits)
  const close = () => code[Symbol.asyncDispose]()
  try {
    const environment =
      'environment' in code ? await pythonEnvironment(code, entry) : codeEnvironment(code, entry)
    return { environment, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Checks that a built-in exists and accepts its settings; code is checked when the run begins. Errors: AppError
 * 'config/invalid'.
 */
export function requireKnownEnvironment(entry: EnvironmentEntry): void {
  const { function: id, settings } = entry
  if (codeReference(id) !== null) return
  if (isSearch(id)) soughtIn(settings)
  builtInWith(entry, isSearch(id) ? { retrieve: () => Promise.resolve([]) } : {})
}

/**
 * Checks, before a run is created, that its code loads and is an environment and that its documents exist. Errors: as
 * `resolveEnvironment`.
 */
export async function requireWorkingEnvironment(
  config: EnvironmentConfig,
  dataDirectory: string,
): Promise<void> {
  const entry = config.environment
  if (entry === null) return
  const reference = codeReference(entry.function)
  if (reference !== null) {
    const consents = consentsFile(dataDirectory)
    const onRequest = () => countOutboundRequest(dataDirectory, 'search')
    await using _ = await openWritten(entry, readRewardCode(reference), { config, consents, onRequest })
  }
  const corpus = corpusOf(entry)
  if (corpus !== null) requireCorpus(corpus)
}

/** Resolves a relative path of documents against `base`. Errors: as `namedPlace`. */
export function withAbsoluteCorpus(entry: EnvironmentEntry, base: string): EnvironmentEntry {
  const corpus = corpusOf(entry)
  if (corpus === null) return entry
  return { ...entry, settings: { ...entry.settings, corpus: namedPlace(corpus, base) } }
}

/** The file of documents that an environment searches; null for all others. */
export function corpusOf(entry: EnvironmentEntry | null): string | null {
  const corpus = entry?.settings['corpus']
  return entry !== null && isSearch(entry.function) && typeof corpus === 'string' && corpus !== ''
    ? corpus
    : null
}

const isSearch = (id: string): boolean => {
  const known = builtInEnvironments.find((each) => each.id === id)
  return known !== undefined && searches(known.settings)
}

/** Errors: AppError 'config/invalid', and those of reading documents. */
export async function openBuiltIn(
  entry: Played,
  place: RetrieverPlace,
): Promise<ResolvedEnvironment & { readonly environment: Environment }> {
  const retriever = isSearch(entry.function) ? await openRetriever(entry.settings, place) : null
  const environment = builtInWith(entry, retriever ?? {})
  return { environment, [Symbol.asyncDispose]: () => Promise.resolve(retriever?.[Symbol.dispose]()) }
}

type Played = Pick<EnvironmentEntry, 'function' | 'settings' | 'settingsFromRow'>

/** Errors: AppError 'config/invalid'. */
function builtInWith(
  { function: id, settings, settingsFromRow }: Played,
  services: TaskServices,
): Environment {
  const found = builtInEnvironments.find((each) => each.id === id)
  // The index is opened once for all episodes.
  const { corpus: _, url: _url, api: _api, ...known } = found?.settings ?? {}
  return withRowSettings({
    known,
    settings,
    fromRow: settingsFromRow,
    create: (own) => builtInEnvironment(id, own, services),
  })
}

/** Errors: AppError 'config/invalid', 'sandbox/failed'. */
function pythonEnvironment(code: PythonCode, { function: id, settings, settingsFromRow }: EnvironmentEntry) {
  if (Object.keys(settingsFromRow).length === 0)
    return code.environment(codeReference(id)?.name ?? null, settings)
  throw invalidConfig(
    'environment.settingsFromRow: an environment in Python takes no settings from rows.',
    'Its reset gets the row as `options`.',
  )
}

/** Errors: as sandboxedEnvironment. */
const codeEnvironment = (
  sandbox: Sandbox,
  { function: id, settings, settingsFromRow }: Played,
): Environment =>
  withRowSettings({
    known: sandbox.settings,
    settings,
    fromRow: settingsFromRow,
    create: (own) => sandboxedEnvironment(sandbox, { function: id, settings: own }),
  })

type EnvironmentSettings = Readonly<Record<string, string | number | boolean>>

/** Maximum turns of an episode, if neither the code's `maxTurns` setting nor the run sets it. */
const defaultTurns = 8

/**
 * Wraps user code as the environment that training uses. A setting `maxTurns` of the code is its default. Errors:
 * AppError 'config/invalid' for a reward function, or for unknown settings.
 */
export function sandboxedEnvironment(
  sandbox: Sandbox,
  { function: id, settings }: { readonly function: string; readonly settings: EnvironmentSettings },
): Environment {
  if (sandbox.kind !== 'environment') {
    throw invalidConfig(
      `The code is ${kindTitles[sandbox.kind]}, not an environment.`,
      'An environment exports { reset, step } as default.',
    )
  }
  requireSettings(sandbox, settings)
  const suggested = settings['maxTurns'] ?? sandbox.settings['maxTurns']
  return {
    id,
    description: 'Environment code.',
    maxTurns: typeof suggested === 'number' && suggested >= 1 ? Math.floor(suggested) : defaultTurns,
    reset: (starts) => sandbox.reset(starts.map((start) => ({ ...start, settings }))),
    step: (actions) => sandbox.step(actions.map((action) => ({ ...action, settings }))),
  }
}
