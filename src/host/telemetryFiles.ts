/**
 * Removes what ONNX Runtime's telemetry left on this machine before it was turned off: an identifier of the device and
 * a queue of reports in the person's cache folder, and files beside those of other programs in the temporary folder.
 */
import { lstatSync, readdirSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { writing } from '#host/files/fileErrors.ts'

/** Folder in which the runtime keeps them, from the same environment variables. */
function cacheFolder(): string {
  const base = process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache')
  return path.join(base, 'Microsoft', 'DeveloperTools', '.onnxruntime')
}

/** One for each process that loaded the runtime. */
const isReportLog = (name: string): boolean => /^mat-debug-\d+\.log$/.test(name)

/** Lists the paths that exist and belong to this person. */
export function telemetryFiles(): string[] {
  const logs = entriesOf(tmpdir()).filter((name) => isReportLog(name) || name === '.ses')
  const own = [
    ...entriesOf(cacheFolder()).map((name) => path.join(cacheFolder(), name)),
    ...logs.map((name) => path.join(tmpdir(), name)),
  ]
  return own.filter(isOwnFile)
}

/** Removes them and returns how many there were. Errors: AppError 'file/unwritable'. */
export function removeTelemetryFiles(): number {
  const files = telemetryFiles()
  for (const file of files) {
    writing(file, () => rmSync(file, { force: true }))
  }
  return files.length
}

/** A link in a folder that everyone may write to can be anybody's and point anywhere. */
function isOwnFile(file: string): boolean {
  const status = lstatSync(file, { throwIfNoEntry: false })
  return status?.isFile() === true && (process.getuid === undefined || status.uid === process.getuid())
}

function entriesOf(folder: string): string[] {
  // The folder may not exist, or not be ours to look at.
  return attempt(() => readdirSync(folder), [])
}
