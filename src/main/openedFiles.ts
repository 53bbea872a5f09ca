/** Files and folders that the program is started with. */
import { existsSync } from 'node:fs'
import path from 'node:path'

/**
 * Returns the files of a command line, which begins with the program and, unless `packaged`, the argument to Electron;
 * switches may be anywhere. Missing files are left out.
 */
export const filesOf = (argv: readonly string[], isPackaged: boolean, folder: string): string[] =>
  argv
    .filter((argument) => !argument.startsWith('-'))
    .slice(isPackaged ? 1 : 2)
    .map((argument) => path.resolve(folder, argument))
    .filter((file) => existsSync(file))

/** Data that a second start of the program hands over to the running one. */
export interface Handover {
  readonly files: readonly string[]
}

/** Parses a handover; anything else counts as empty. */
export function readHandover(given: unknown): readonly string[] {
  if (typeof given !== 'object' || given === null || !('files' in given) || !Array.isArray(given.files))
    return []
  return given.files.filter((file) => typeof file === 'string')
}
