/** Files and folders that the program is started with. */
import { existsSync } from 'node:fs'
import path from 'node:path'

/**
 * Of a command line. First comes the program, and where it is not `packaged` what Electron was told to run; switches may
 * stand anywhere. What is not there is left out.
 */
export const filesOf = (argv: readonly string[], isPackaged: boolean, folder: string): string[] =>
  argv
    .filter((argument) => !argument.startsWith('-'))
    .slice(isPackaged ? 1 : 2)
    .map((argument) => path.resolve(folder, argument))
    .filter((file) => existsSync(file))

/** What another start of the program hands over to the one that runs. */
export interface Handover {
  readonly files: readonly string[]
}

/** Whatever came instead of a handover is none. */
export function readHandover(given: unknown): readonly string[] {
  if (typeof given !== 'object' || given === null || !('files' in given) || !Array.isArray(given.files))
    return []
  return given.files.filter((file) => typeof file === 'string')
}
