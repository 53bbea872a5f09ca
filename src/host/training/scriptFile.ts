/**
 * Training scripts on disk. A script is trusted code: it runs in the training process, as its person, with everything Node has.
 * A run's folder names its script and may come from anybody, so the script runs only where a person started this content at this
 * place, by `turnwise run`, from this data directory. That is kept among the consents to Python, which it resembles.
 */
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { registerHooks } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { AppError } from '#shared/errors.ts'
import type { TrainingScript } from '#rl/training/script.ts'
import { commandWord, shownText } from '#shared/shownText.ts'
import { foreignConsents, readConsents } from '#host/consents/consents.ts'
import { reading } from '#host/files/fileErrors.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { allowPython } from '#host/python/consent.ts'
import { readScriptReference } from '#host/workFolder/runFolder.ts'

/** A script and its content; what it imports is not looked at. */
export interface ScriptFile {
  /** Absolute path. */
  readonly file: string
  readonly sha256: string
}

export interface LoadedScript {
  readonly reference: ScriptFile
  /** The file itself, where `reference` names a link. */
  readonly real: string
  /** A run config as in a file; relative paths are meant from the script's folder. */
  readonly config: unknown
  readonly train: TrainingScript
}

/** Runs the module. Errors: AppError 'file/unreadable'; 'script/failed' if it throws or does not export a script. */
export async function loadScript(file: string): Promise<LoadedScript> {
  return await runScript(readScript(file))
}

/** Runs what was read, whatever has become of the file since. */
async function runScript({ content, real, file, sha256 }: ReadScript): Promise<LoadedScript> {
  const reference = { file, sha256 }
  knowOurselves()
  contents.set(sha256, content)
  const address = `${pathToFileURL(real).href}?${contentMark}${sha256}`
  const module = (await import(address).catch((error: unknown) => {
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
  return { reference, real, config, train: train as TrainingScript }
}

interface ReadScript extends ScriptFile {
  /** File to which links led when it was read; imports are meant from there, however they are turned later. */
  readonly real: string
  readonly content: Uint8Array
}

/** Errors: AppError 'file/unreadable'. */
function readScript(file: string): ReadScript {
  const absolute = path.resolve(file)
  const real = reading(absolute, () => realpathSync(absolute))
  const content = readSmallFile(real)
  return { file: absolute, real, sha256: createHash('sha256').update(content).digest('hex'), content }
}

/** Stands for the interpreter of scripts, and no interpreter can have this name: theirs are absolute paths. */
const scriptRunner = 'turnwise run'

/**
 * Allows a script that a person started to go on, wherever a run of it does: the file itself, not a link that others may turn.
 * Errors: AppError 'file/unwritable'.
 */
export const allowScript = ({ real, sha256 }: Pick<ReadScript, 'real' | 'sha256'>, consents: string): void =>
  allowPython([{ interpreter: scriptRunner, files: [{ path: real, sha256, isAllowed: false }] }], consents)

/** Allows the script of a run, as a person said, and returns its path; null for runs without a file of one. Errors: AppError 'file/…'. */
export function allowScriptOfRun(runDirectory: string, consents: string): string | null {
  const file = readScriptReference(runDirectory)?.file ?? null
  if (file !== null) allowScript(readScript(file), consents)
  return file
}

/** Refuses a script that no person started here. Errors: AppError 'script/failed'. */
function requireAllowed(script: ReadScript, runDirectory: string, consents: string | null): void {
  const { real, sha256 } = script
  const isKnown = readConsents(consents).python.some(
    (each) => each.interpreter === scriptRunner && each.path === real && each.sha256 === sha256,
  )
  if (isKnown) return
  const earlier = foreignConsents(consents)
  throw new AppError(
    'script/failed',
    `${shownText(script.file)} is a training script, which is not sandboxed, and its present content was not started on this machine.`,
    {
      text: `Nothing of it was run. It could read and change your files and use the network: read the code, and allow it only if you trust it.${earlier === null ? '' : ` ${earlier}`}`,
      command: `turnwise resume ${commandWord(path.basename(runDirectory))} --trust-script`,
    },
  )
}

/**
 * Returns the script of a run, and if it has changed since the run began; null for runs without one. Errors: as
 * loadScript; AppError 'script/failed' for one that was not started here.
 */
export async function scriptOfRun(
  runDirectory: string,
  consents: string | null,
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
  const script = readScript(before.file)
  requireAllowed(script, runDirectory, consents)
  const { train, reference } = await runScript(script)
  return { train, hasChanged: reference.sha256 !== before.sha256 }
}

let isKnown = false

/** Scripts that were read, by digest, and the mark of their addresses: what is loaded is what was looked at. */
const contents = new Map<string, Uint8Array>()
const contentMark = 'content='

/** Lets a script import `turnwise` wherever the script is, and loads scripts as they were read. */
function knowOurselves(): void {
  if (isKnown) return
  isKnown = true
  const { url } = import.meta
  const own = new URL(url.endsWith('.ts') ? '../../library/turnwise.ts' : './turnwise.js', url).href
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'turnwise' ? { url: own, shortCircuit: true } : next(specifier, context),
    load(url, context, next) {
      const loaded = next(url, context)
      const content = contents.get(new URL(url).search.slice(1 + contentMark.length))
      return content === undefined ? loaded : { ...loaded, source: content }
    },
  })
}
