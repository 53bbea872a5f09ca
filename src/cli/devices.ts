/** What commands about devices have in common. */
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { deviceKinds, type DeviceCheck, type DeviceKind, type DeviceSpeed } from '#shared/device.ts'
import { cudaEnvironment } from '#host/devices/installedCuda.ts'
import { forkProcess, scriptPath } from '#host/processes/childProcess.ts'
import {
  askOnce,
  createAsk,
  type Answers,
  type Ask,
  type FromQuestion,
  type Question,
} from '#host/processes/question.ts'
import { usageError } from './options.ts'

/** Asks processes of their own, which a driver may crash; what drivers write meanwhile is nothing to read. */
export const askQuietly = (dataDirectory: string): Ask =>
  createAsk(
    (environment) => {
      const nowhere = openSync(devNull, 'w')
      const child = forkProcess<Question, FromQuestion>(scriptPath('questionProcess'), nowhere, environment)
      closeSync(nowhere) // the process has its own
      return child
    },
    () => cudaEnvironment(dataDirectory),
  )

/** Every kind of device, tried for real in a process of its own. */
export const askDevices = (dataDirectory: string): Promise<Answers['devices']> =>
  askOnce(askQuietly(dataDirectory), { type: 'devices' }, new AbortController().signal)

/** Errors: AppError 'usage/invalid' for what is no device. */
export function readKind(given: string): DeviceKind {
  const kind = deviceKinds.find((each) => each === given)
  if (kind !== undefined) return kind
  throw usageError(`There is no device “${given}”.`, `Choose one of: ${deviceKinds.join(', ')}.`)
}

/** Errors: AppError 'usage/invalid' for a device that needs nothing to be installed. */
export function checkInstallable(given: string): void {
  if (readKind(given) === 'cuda') return
  throw usageError(
    `Nothing has to be installed for ${given}.`,
    'Only cuda has a library that is fetched; turnwise device list says what the others need.',
  )
}

/** What a check found, in sentences. */
export function checkWords({ checks, failures, problem, speeds, with: words, at }: DeviceCheck): string {
  const when = `on ${new Date(at).toISOString().slice(0, 10)} with ${words}`
  if (problem !== null) return `Its check did not come to its end ${when}. ${problem}`
  const [first] = failures
  if (first !== undefined)
    return `Computes wrongly: ${String(failures.length)} of ${String(checks)} checks failed ${when}, the first is ${first.name}.`
  const passed = `All ${String(checks)} checks passed ${when}.`
  return speeds.length === 0 ? passed : `${passed} Beside the CPU: ${speeds.map(speedWords).join(', ')}.`
}

const speedWords = ({ parameters, ratio }: DeviceSpeed): string => {
  const model = `a model of ${String(Math.round(parameters / 1e6))} million parameters`
  return ratio === null ? `far slower on ${model}` : `${ratio.toPrecision(2)} times as fast on ${model}`
}

export const gigabytes = (bytes: number): string =>
  bytes < 5e7 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`
