/**
 * Training scripts on disk. A script is trusted code: it runs in the training process, as its person, with everything Node has;
 * so it is started from the command line alone, and never comes in by a config or over the API.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { AppError } from '#shared/errors.ts'
import type { TrainingScript } from '#rl/training/script.ts'
import { readError } from '#host/files/fileErrors.ts'
import { readScriptReference, type ScriptReference } from '#host/workFolder/runFolder.ts'

export interface LoadedScript {
  readonly reference: ScriptReference
  /** A run config as in a file; relative paths are meant from the script's folder. */
  readonly config: unknown
  readonly train: TrainingScript
}

/** Runs the module. Errors: AppError 'file/unreadable'; 'script/failed' if it throws or does not export a script. */
export async function loadScript(file: string): Promise<LoadedScript> {
  const absolute = path.resolve(file)
  const reference = { file: absolute, sha256: createHash('sha256').update(readText(absolute)).digest('hex') }
  knowOurselves()
  const module = (await import(pathToFileURL(absolute).href).catch((error: unknown) => {
    throw new AppError('script/failed', `${file} does not load: ${String(error)}`, undefined, error)
  })) as Record<string, unknown>
  const { default: main, train = main, config } = module
  if (typeof train !== 'function' || typeof config !== 'object' || config === null) {
    throw new AppError(
      'script/failed',
      `${file} is not a training script.`,
      'A script exports `config`, a run config, and `train` (or a default export), an async generator function (run, state) that yields after every step.',
    )
  }
  return { reference, config, train: train as TrainingScript }
}

/**
 * Returns the script of a run, and if it has changed since the run began; null for runs without one. Errors: as
 * loadScript.
 */
export async function scriptOfRun(
  runDirectory: string,
): Promise<{ readonly train: TrainingScript; readonly hasChanged: boolean } | null> {
  const before = readScriptReference(runDirectory)
  if (before === null) return null
  if (before.file === null) {
    throw new AppError(
      'script/failed',
      'The steps of this run were run by a function of the program that started it.',
      'Resume it from that program, with `resume(run, { script })`.',
    )
  }
  const { train, reference } = await loadScript(before.file)
  return { train, hasChanged: reference.sha256 !== before.sha256 }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw readError(file, error)
  }
}

let isKnown = false

/** Lets a script import `turnwise` wherever the script is. */
function knowOurselves(): void {
  if (isKnown) return
  isKnown = true
  const { url } = import.meta
  const own = new URL(url.endsWith('.ts') ? '../../library/turnwise.ts' : './turnwise.js', url).href
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'turnwise' ? { url: own, shortCircuit: true } : next(specifier, context),
  })
}
