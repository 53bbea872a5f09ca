/**
 * Seals of what the processes of a run write into its folder and read again: the copies of its code, the checkpoints that it goes on
 * from, and the one that a fork began with. A run goes on by itself only with those that were written here, or that lay there when a
 * person let it go on.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { folderContent, hasSeal, writeSeal } from '#host/consents/seals.ts'
import { requireOwn } from '#host/files/ownFiles.ts'
import { checkpointName } from '#host/models/checkpoints.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { isCheckpoint, maxStateBytes, stateFile } from '#host/workFolder/checkpointState.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'

/** A folder in that of a run, with the name by which it is sealed. */
interface Part {
  readonly folder: string
  readonly name: string
}

/** Seals the copies of code in the folder of a run. Errors: AppError 'file/…'. */
export const sealCode = (runDirectory: string, dataDirectory: string): void =>
  codeOf(runDirectory).forEach((part) => writeSeal(part.folder, sealedOf(part, runDirectory, dataDirectory)))

/** Seals the checkpoint of a step before it appears. `folder`: where it lies until then. Errors: AppError 'file/…'. */
export const sealCheckpoint = (
  folder: string,
  step: number,
  runDirectory: string,
  dataDirectory: string,
): void => writeSeal(folder, sealedOf({ folder, name: checkpointName(step) }, runDirectory, dataDirectory))

/** Lets a run go on from what lies in its folder now. Errors: AppError 'file/…', also where a link takes the place of a folder. */
export function sealWork(runDirectory: string, dataDirectory: string): void {
  requireOwn(runPaths(runDirectory).checkpoints, 'folder')
  for (const part of partsOf(runDirectory)) {
    const sealed = sealedOf(part, runDirectory, dataDirectory)
    if (hasSeal(part.folder, sealed)) continue
    requireOwn(part.folder, 'folder')
    writeSeal(part.folder, sealed)
  }
}

/** Tells whether all of it is as it was sealed. Errors: AppError 'file/unreadable'. */
export const isOwnWork = (runDirectory: string, dataDirectory: string): boolean =>
  partsOf(runDirectory).every((part) => hasSeal(part.folder, sealedOf(part, runDirectory, dataDirectory)))

function partsOf(runDirectory: string): Part[] {
  const { checkpoints, origin } = runPaths(runDirectory)
  const names = existsSync(checkpoints) ? readdirSync(checkpoints) : []
  const saved = names.flatMap((found) => {
    // One that was being replaced when its process was killed comes back under its own name.
    const name = /^\.?(step-\d{6,})(?:\.previous)?$/.exec(found)?.[1]
    return name === undefined ? [] : [{ folder: path.join(checkpoints, found), name }]
  })
  const all = [...saved, { folder: origin, name: 'origin' }].filter(({ folder }) => isCheckpoint(folder))
  return [...codeOf(runDirectory), ...all]
}

const codeName = 'rewards'

function codeOf(runDirectory: string): Part[] {
  const folder = runPaths(runDirectory)[codeName]
  return existsSync(folder) ? [{ folder, name: codeName }] : []
}

/** Returns place, purpose and content of the seal of a part. The state of a checkpoint has the digests of its other files. */
function sealedOf({ folder, name }: Part, runDirectory: string, dataDirectory: string) {
  const what = `host.run.${path.basename(runDirectory)}/${name}`
  const content = name === codeName ? folderContent(folder) : digestOf(stateFile(folder))
  return [dataDirectory, what, content] as const
}

const digestOf = (file: string): string =>
  createHash('sha256').update(readSmallFile(file, maxStateBytes)).digest('hex')
