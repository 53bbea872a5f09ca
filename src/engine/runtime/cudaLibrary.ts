/** Loads what a process needs to compute on CUDA besides ONNX Runtime: NVIDIA's driver and its libraries. */
import { readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { oldestCudaDriver, type Device } from '#shared/device.ts'
import { AppError, type Hint } from '#shared/errors.ts'
import { runtimeEnvironment, tf32Override } from '#shared/runtimeEnvironment.ts'
import { nativeVariables, setBefore } from './nativeEnvironment.ts'
import { cudaFolder } from './onnxRuntime.ts'

/** Stay although they are no addons, which Node finds out after loading them (glibc's RTLD_NODELETE). */
const stay = constants.dlopen.RTLD_LAZY | 0x1000

/** The hint of errors that the library itself causes. */
export const cudaAgain: Hint = {
  text: 'Remove it and install it again, under Settings, Machine.',
  command: '`turnwise device remove cuda` and `turnwise device install cuda` do so.',
}

const remedies = {
  driver: `Install NVIDIA’s driver, ${oldestCudaDriver} or newer, and restart the machine; a container needs access to the card (--gpus all).`,
  library: cudaAgain,
} as const

export interface CudaProblem {
  readonly reason: string
  readonly remedy: string | Hint
}

/**
 * Loads NVIDIA's libraries: the provider finds those by name that are in the process already, and no other way needs an
 * environment made before the process began. Returns null on success.
 */
export function openCudaLibraries(): CudaProblem | null {
  const driver = load('libcuda.so.1')
  if (driver !== null) {
    const isMissing = driver.includes('libcuda.so.1: cannot open')
    const reason = isMissing
      ? 'No NVIDIA driver is installed here: the system has no libcuda.so.1.'
      : `The NVIDIA driver cannot be loaded: ${driver}.`
    return { reason, remedy: remedies.driver }
  }
  if (cudaFolder === null) return null
  const names = readdirSync(cudaFolder).filter((name) => /^lib(?!onnxruntime).*\.so(?:\.\d+)*$/.test(name))
  for (const name of names) {
    const problem = load(join(cudaFolder, name))
    if (problem !== null)
      return { reason: `${name} of the CUDA library cannot be loaded: ${problem}.`, remedy: remedies.library }
  }
  return null
}

/** True if this process multiplies in TF32; null before it opens CUDA. */
let inTf32: boolean | null = null

/**
 * NVIDIA's libraries read `NVIDIA_TF32_OVERRIDE` once in a process, when they are first used. It stands at 0 there
 * (runtimeEnvironment.ts), until a device is opened for a run that chose TF32.
 * @throws AppError `device/unavailable` where the process multiplies otherwise already, and in a worker thread that
 * cannot set the variable.
 */
export function settleProducts({ kind, tf32 = false }: Device): void {
  if (kind !== 'cuda') return
  if (inTf32 === null) tellLibraries(tf32)
  inTf32 ??= tf32
  if (inTf32 === tf32) return
  const [now, wanted] = tf32 ? ['f32', 'TF32'] : ['TF32', 'f32']
  throw new AppError(
    'device/unavailable',
    `This process multiplies in ${now} on CUDA, and a process cannot do both: ${wanted} was asked for too.`,
    'Nothing was computed. In a run, set base.precision to f32, or the device of the judge to cpu.',
  )
}

function tellLibraries(tf32: boolean): void {
  const wanted = tf32 ? undefined : runtimeEnvironment[tf32Override]
  if (wanted === undefined) Reflect.deleteProperty(process.env, tf32Override)
  else process.env[tf32Override] = wanted
  const found = nativeVariables()[tf32Override]
  if (found === wanted) return
  throw new AppError(
    'device/unavailable',
    `NVIDIA’s libraries read ${tf32Override} from the environment of the process, which a worker thread cannot change: ${found === undefined ? 'it is not set' : `it is ${found}`} there, and a base in ${tf32 ? 'tf32' : 'f32'} needs it ${tf32 ? 'unset' : `at ${String(wanted)}`}.`,
    `Nothing was computed. ${tf32 ? 'Open the device in the main thread.' : setBefore}`,
  )
}

/** Loads a library; returns the reason if that fails, else null. */
function load(file: string): string | null {
  try {
    process.dlopen({ exports: {} }, file, stay)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return message.startsWith('Module did not self-register') ? null : message
  }
  return null
}

/** The runtime's message about the driver, as a sentence; null for other messages. */
export function driverProblem(message: string): CudaProblem | null {
  const [, code, text = ''] = /CUDA failure (\d+): (.+?) ; GPU=/.exec(message) ?? []
  if (code === undefined) return null
  const remedy = remedies.driver
  if (code === '35') return { reason: 'The NVIDIA driver is older than CUDA 13 needs.', remedy }
  if (code === '100') return { reason: 'The NVIDIA driver finds no usable GPU.', remedy }
  if (code === '101')
    return { reason: 'There is no NVIDIA GPU with that number.', remedy: 'Choose a lower device id.' }
  return { reason: `The NVIDIA driver refused: ${text} (CUDA failure ${code}).`, remedy }
}
