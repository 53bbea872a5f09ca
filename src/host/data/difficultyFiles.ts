/** Difficulties that were measured: kept in the folder of the version they are of, and gone with it. */
import { hash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { difficultySchema, type Difficulty } from '#shared/api/difficulty.ts'
import { AppError } from '#shared/errors.ts'
import { hashFiles } from '#host/files/contentHash.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { codeReference, readRewardCode } from '#host/rewards/rewardCode.ts'
import type { Contender } from '#host/processes/question.ts'

export interface DifficultySubject {
  readonly contender: Contender
  readonly rewards: readonly {
    readonly function: string
    readonly settings: object
    readonly weight: number
  }[]
  /** All else that the result depends on. */
  readonly request: unknown
  readonly cacheDirectory: string
}

/** Of weights and code their content counts, not where they lie. */
export async function difficultyId(subject: DifficultySubject): Promise<string> {
  const { contender, rewards, request, cacheDirectory } = subject
  const { weightFiles, directory } = openModelFolder(contender.directory)
  const adapter = contender.adapter === null ? [] : adapterFiles(contender.adapter)
  const files = [path.join(directory, 'config.json'), ...weightFiles, ...adapter]
  const digests = await hashFiles(files, cacheDirectory, () => undefined)
  const judges = rewards.map(({ function: id, settings, weight }) => {
    const code = codeReference(id)
    return [code === null ? id : [readRewardCode(code).code, code.name], settings, weight]
  })
  return hash('sha256', JSON.stringify([digests, judges, request]))
}

/** A PEFT folder has it itself, a checkpoint in the part of its actor. */
const adapterFiles = (directory: string): string[] =>
  [directory, path.join(directory, 'actor')]
    .flatMap((folder) =>
      ['adapter_model.safetensors', 'adapter_config.json'].map((name) => path.join(folder, name)),
    )
    .filter((file) => existsSync(file))

const folderOf = (versionDirectory: string): string => path.join(versionDirectory, 'difficulty')
const fileOf = (versionDirectory: string, id: string): string =>
  path.join(folderOf(versionDirectory), `${id}.json`)

/** Errors: AppError 'file/unwritable'. */
export function keepDifficulty(versionDirectory: string, difficulty: Difficulty): void {
  makeFolder(folderOf(versionDirectory))
  writeFileAtomic(fileOf(versionDirectory, difficulty.summary.id), JSON.stringify(difficulty))
}

const maxBytes = 64 << 20

/** null where it is not known, or of another version of the program. Errors: AppError 'data/invalid', 'file/unreadable'. */
export function knownDifficulty(versionDirectory: string, id: string): Difficulty | null {
  const file = fileOf(versionDirectory, id)
  if (!existsSync(file)) return null
  return difficultySchema.safeParse(readJsonObject(file, 'data/invalid', maxBytes)).data ?? null
}

/** As `knownDifficulty`; also null where its file cannot be read: it is measured again and replaced. */
export function usableDifficulty(versionDirectory: string, id: string): Difficulty | null {
  try {
    return knownDifficulty(versionDirectory, id)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** The newest first; a file that cannot be read is a sentence among the problems and hides no other one. */
export function knownDifficulties(versionDirectory: string): {
  known: Difficulty['summary'][]
  problems: string[]
} {
  const folder = folderOf(versionDirectory)
  const names = existsSync(folder)
    ? readdirSync(folder).filter((name) => /^[0-9a-f]{64}\.json$/.test(name))
    : []
  const known: Difficulty['summary'][] = []
  const problems: string[] = []
  for (const name of names) {
    try {
      const difficulty = knownDifficulty(versionDirectory, path.parse(name).name)
      if (difficulty !== null) known.push(difficulty.summary)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      problems.push(error.message)
    }
  }
  return { known: known.sort((a, b) => b.createdAt - a.createdAt), problems }
}
