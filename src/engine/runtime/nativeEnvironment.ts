/**
 * The environment as native code reads it. In a worker thread, `process.env` is a copy that native code never sees,
 * unless the thread was started with `SHARE_ENV`; a diagnostic report names what is really there.
 */
import { isMainThread } from 'node:worker_threads'
import { AppError } from '#shared/errors.ts'
import { runtimeEnvironment } from '#shared/runtimeEnvironment.ts'

type Variables = Readonly<Record<string, string | undefined>>

/** Reads the variables of the process; takes milliseconds in a worker thread. */
export function nativeVariables(): Variables {
  if (isMainThread) return process.env
  const { report } = process
  const asSet = {
    excludeEnv: report.excludeEnv,
    excludeNetwork: Reflect.get(report, 'excludeNetwork') as unknown,
  }
  // Without the network nobody is asked for the names of addresses.
  Object.assign(report, { excludeEnv: false, excludeNetwork: true })
  try {
    return (report.getReport() as { readonly environmentVariables?: Variables }).environmentVariables ?? {}
  } finally {
    Object.assign(report, asSet)
  }
}

/** `NAME=value` of each variable, for a sentence. */
const assignments = Object.entries(runtimeEnvironment)
  .map(([name, value]) => `${name}=${value}`)
  .join(' and ')

/** Advice for a thread that cannot set what native code reads. */
export const setBefore = `Start the program with ${assignments} in its environment, or import turnwise in the main thread first.`

/**
 * Sets what ONNX Runtime reads when it is loaded. Errors: AppError 'runtime/failed' in a worker thread whose process has
 * other values.
 */
export function settleEnvironment(): void {
  Object.assign(process.env, runtimeEnvironment)
  if (nativeVariables()['ORT_DISABLE_TELEMETRY'] === runtimeEnvironment.ORT_DISABLE_TELEMETRY) return
  throw new AppError(
    'runtime/failed',
    `ONNX Runtime was not loaded: it reads the environment of the process, which a worker thread cannot change. ${setBefore}`,
  )
}
