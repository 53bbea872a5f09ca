/** Rows of a data set that Python makes: a function of the person's, or a data set of ReasoningGym. */
import path from 'node:path'
import type { RunConfig } from '#shared/runConfig.ts'
import { readRewardCode } from './rewardCode.ts'
import { pythonRowsSeconds } from '#host/processes/limits.ts'
import type { PythonSource } from '#host/python/consent.ts'
import { openPython } from '#host/python/pythonCode.ts'

export interface PythonRows {
  /** Name of the data set if the user gives none. */
  readonly name: string
  readonly origin: string
  readonly settings: Readonly<Record<string, string>>
  /** A path, or the id of a package. */
  readonly file: string
  readonly function: string
}

/** Returns null for a source that is not Python. */
export function pythonRows(source: string): PythonRows | null {
  const task = /^reasoning-gym:(\w+)$/.exec(source)?.[1]
  if (task !== undefined) {
    const settings = { dataset: task }
    return { name: task, origin: source, settings, file: 'reasoning-gym', function: 'rows' }
  }
  const { file, name } = /^(?<file>.+\.py)(?:#(?<name>.+))?$/s.exec(source)?.groups ?? {}
  if (file === undefined) return null
  const whole = path.resolve(file)
  return { name: path.parse(file).name, origin: whole, settings: {}, file: whole, function: name ?? 'rows' }
}

export const rowsSource = ({ file }: PythonRows): PythonSource =>
  readRewardCode({ file, language: 'py' }) as PythonSource

/** Writes the rows as JSON lines. Errors: AppError 'python/not-allowed', 'sandbox/failed', 'file/unreadable'. */
export async function writePythonRows(
  rows: PythonRows,
  settings: RunConfig['rewards'][number]['settings'],
  out: string,
  place: { readonly interpreter: string | null; readonly consents: string },
): Promise<number> {
  const options = { ...place, callSeconds: pythonRowsSeconds, messages: null, form: null }
  await using code = await openPython(rowsSource(rows), options)
  return await code.writeRows(rows.function, settings, out)
}
