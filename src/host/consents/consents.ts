/**
 * Consents of the owner of a machine, which no config can give: to contents of Python files, each with the interpreter that runs them,
 * to sending the values of environment variables to an address, and to what agents do. One file in the data directory holds all of it. It counts in the
 * folder it was written in alone: what comes along in a folder that was copied or unpacked was not allowed here.
 */
import {
  type BigIntStats,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
} from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { AtomicFile, makeFolder } from '#host/files/atomic.ts'
import { readError, systemCode } from '#host/files/fileErrors.ts'
import { jsonObjectOf } from '#host/files/strictJson.ts'
import { takeTurn } from '#host/files/turns.ts'
import { isMarked, isOurs, isOwnSeal, mark, markOf, ownSeal } from '#host/files/ownSeals.ts'

const consentSchema = z.strictObject({
  format: z.literal(5),
  /** Itself: an archive unpacked over the folder has another file. */
  file: mark,
  /** Contents of files, and the interpreters that may run them; paths absolute. Training scripts have a word for theirs. */
  python: z.array(
    z.strictObject({ interpreter: z.string(), path: z.string(), sha256: z.string(), at: z.number() }),
  ),
  /** Environment variables, and where their values may be sent. */
  keys: z.array(z.strictObject({ variable: z.string(), origin: z.string(), at: z.number() })),
  /** Programs that work for the owner, by the names they give, and what each may do; see agents.ts. */
  agents: z.array(z.strictObject({ client: z.string(), may: z.string(), at: z.number() })).default([]),
})

/** The same with the seal of all of it, which a file that was made or changed elsewhere has not, see ownSeals.ts. */
const sealedSchema = consentSchema.extend({ seal: z.string() })

export type Consents = Pick<z.output<typeof consentSchema>, 'python' | 'keys' | 'agents'>

const none: Consents = { python: [], keys: [], agents: [] }

/** Path of the consents of a machine. Everything below takes it; null: nothing is allowed there. */
export const consentsFile = (dataDirectory: string): string =>
  path.join(dataDirectory, 'python-consents.json')

/** Reads all consents; none where they were given elsewhere. Errors: AppError 'config/invalid' for a file that is damaged: then nothing is allowed. */
export function readConsents(consents: string | null): Consents {
  return consents === null ? none : (readOwn(consents) ?? none)
}

/** Tells whoever is refused why earlier consents do not count; null: they do, or there are none. */
export function foreignConsents(consents: string | null): string | null {
  return consents !== null && existsSync(consents) && readOwn(consents) === null
    ? 'What had been allowed does not count any more, as the data directory was copied, or another user or an earlier version wrote it: allow again what you trust.'
    : null
}

/** Returns null if there is no such file, or it was written in another folder, by another user or by an earlier version. */
function readOwn(consents: string): Consents | null {
  const own = readIfOwn(consents)
  if (own === null) return null
  const said = jsonObjectOf(own.bytes, consents, 'config/invalid')
  if ([1, 2, 3, 4].includes(Number(said['format']))) return null
  const { data } = sealedSchema.safeParse(said)
  if (data !== undefined) {
    const { seal, ...all } = data
    const isSealed = isOwnSeal(seal, path.dirname(consents), sealedAs, all)
    return isSealed && isMarked(data.file, own.status) ? data : null
  }
  throw new AppError(
    'config/invalid',
    `${consents} does not say what is allowed on this machine.`,
    'No Python was started and no key was sent. Delete the file and allow again what you trust.',
  )
}

const sealedAs = 'consents'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants

/**
 * Reads the file if it belongs to this user: anyone who may write into the data directory could have put it there, or a link to some
 * file of this user's. So no link is followed, and the open file is asked for its owner. Errors: AppError 'file/unreadable'.
 */
export function readIfOwn(
  consents: string,
): { readonly bytes: Uint8Array; readonly status: BigIntStats } | null {
  try {
    const handle = openSync(consents, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) // undefined on Windows, where it counts as 0
    try {
      const status = fstatSync(handle, { bigint: true })
      return status.isFile() && isOurs(status) ? { bytes: readFileSync(handle), status } : null
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(systemCode(error))) return null
    throw readError(consents, error)
  }
}

/** Maximum wait for the changes of other processes, which take milliseconds each. */
const longestWaitMs = 10_000

/**
 * Replaces the parts that `change` returns, one process after the other, so that none brings back what another withdrew. Nothing is
 * written where nothing changes. Errors: AppError 'file/unwritable', 'store/busy'; as `readConsents`.
 */
export function changeConsents(consents: string, change: (before: Consents) => Partial<Consents>): void {
  const directory = path.dirname(consents)
  makeFolder(directory)
  using turn = takeTurn(`${consents}.turn`, longestWaitMs)
  if (turn === null) {
    throw new AppError(
      'store/busy',
      `Another process has been changing ${consents} for ten seconds.`,
      'Nothing was changed. Try again when it is done.',
    )
  }
  const { python, keys, agents } = readConsents(consents)
  const before: Consents = { python, keys, agents }
  const after = { ...before, ...change(before) }
  if (isDeepStrictEqual(before, after)) return
  using file = new AtomicFile(consents)
  const all = consentSchema.parse({ format: 5, file: markOf(file.status), ...after })
  const sealed = { ...all, seal: ownSeal(directory, sealedAs, all) }
  file.write(Buffer.from(`${JSON.stringify(sealed, null, 2)}\n`))
  file.commit()
}
