/** From a run's config to its environment: built in, or code of the user in a sandbox. */
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { FetchJson, TaskServices } from '#rl/environments/tasks/common.ts'
import { builtInEnvironment, builtInEnvironments } from '#rl/environments/tasks/registry.ts'
import type { Environment } from '#rl/environment.ts'
import { openSandbox, requireSettings, type Sandbox } from '#host/sandbox/sandbox.ts'
import { codeReference, readRewardCode, runEnvironmentCode } from '#host/rewards/rewardCode.ts'

type EnvironmentEntry = NonNullable<RunConfig['environment']>

export interface ResolvedEnvironment extends AsyncDisposable {
  /** null where the run has none. */
  readonly environment: Environment | null
}

/**
 * `onRequest`: told before another machine is asked. Errors: AppError 'config/invalid' for what is not there,
 * 'sandbox/failed' for code that does not load, 'file/…'.
 */
export async function resolveEnvironment(
  config: Pick<RunConfig, 'environment' | 'rewardLimits'>,
  runDirectory: string,
  onRequest: () => void,
): Promise<ResolvedEnvironment> {
  const entry = config.environment
  if (entry === null) return { environment: null, [Symbol.asyncDispose]: async () => {} }
  const code = runEnvironmentCode(entry, runDirectory)
  if (code === null) {
    return { environment: builtInOf(entry, onRequest), [Symbol.asyncDispose]: async () => {} }
  }
  const sandbox = await openSandbox(code, config.rewardLimits)
  try {
    return {
      environment: sandboxedEnvironment(sandbox, entry),
      [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
    }
  } catch (error) {
    await sandbox[Symbol.asyncDispose]()
    throw error
  }
}

/** A built-in is there and takes its settings; code is looked at when the run begins. Errors: AppError 'config/invalid'. */
export function requireKnownEnvironment(entry: EnvironmentEntry): void {
  if (codeReference(entry.function) === null) builtInOf(entry, () => {})
}

/** Code loads and is an environment: asked before a run is made. Errors as resolveEnvironment. */
export async function requireWorkingEnvironment(
  config: Pick<RunConfig, 'environment' | 'rewardLimits'>,
): Promise<void> {
  const entry = config.environment
  const reference = entry === null ? null : codeReference(entry.function)
  if (entry === null || reference === null) return
  await using sandbox = await openSandbox(readRewardCode(reference), config.rewardLimits)
  sandboxedEnvironment(sandbox, entry)
}

/** Errors: AppError 'config/invalid'. */
export const builtInOf = (
  { function: id, settings }: Pick<EnvironmentEntry, 'function' | 'settings'>,
  onRequest: () => void,
): Environment => builtInEnvironment(id, settings, servicesOf(id, settings, onRequest))

/** The network, for an environment with an address that the person wrote into its settings, and for no other. */
function servicesOf(id: string, settings: EnvironmentEntry['settings'], onRequest: () => void): TaskServices {
  const known = builtInEnvironments.find((each) => each.id === id)
  const hasAddress = known !== undefined && Object.hasOwn(known.settings, 'url')
  const { url } = settings
  return hasAddress && typeof url === 'string' ? { fetchJson: fetchJsonAt(url, onRequest) } : {}
}

/** Pages of results are some kilobytes; more than this is none. */
const maxBytes = 2 << 20

/** Asks at that very origin, follows no redirects, reads no more than `maxBytes`. */
function fetchJsonAt(allowed: string, onRequest: () => void): FetchJson {
  return async (url, signal) => {
    if (new URL(url).origin !== new URL(allowed).origin) {
      throw new AppError('config/invalid', `The environment may not send requests to ${new URL(url).origin}.`)
    }
    if (!isThisMachine(new URL(url).hostname)) onRequest()
    const response = await fetch(url, { signal, redirect: 'error', headers: { accept: 'application/json' } })
    if (!response.ok) throw new Error(`the search engine responded with status ${response.status}`)
    return JSON.parse(await boundedText(response)) as unknown
  }
}

const isThisMachine = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

async function boundedText({ body }: Response): Promise<string> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = body?.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    size += part.value.byteLength
    if (size > maxBytes) {
      await reader?.cancel()
      throw new Error('the answer is too large')
    }
    chunks.push(part.value)
  }
  return Buffer.concat(chunks).toString('utf8')
}

type EnvironmentSettings = Readonly<Record<string, string | number | boolean>>

/** Where neither the code's `maxTurns` setting nor the run says how many turns an episode may have. */
const defaultTurns = 8

/**
 * An environment of user code as the environment that learning knows. A setting `maxTurns` of the code is its suggestion.
 * Errors: AppError 'config/invalid' for a reward function, or for settings it does not have.
 */
export function sandboxedEnvironment(
  sandbox: Sandbox,
  { function: id, settings }: { readonly function: string; readonly settings: EnvironmentSettings },
): Environment {
  if (sandbox.kind !== 'environment') {
    throw new AppError(
      'config/invalid',
      'The code is a reward function, not an environment.',
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
