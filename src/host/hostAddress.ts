/** The address of the host that serves a data directory, for the owner’s other programs, in a file that counts only while and where it was written. */
import { rmSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { isOnThisMachine } from '#shared/config/addresses.ts'
import type { HostAddress } from '#shared/api/webSocketPort.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { AtomicFile } from '#host/files/atomic.ts'
import { readIfOwn } from '#host/consents/consents.ts'
import { isMarked, isOwnSeal, mark, markOf, ownSeal } from '#host/files/ownSeals.ts'

const addressFile = (dataDirectory: string): string => path.join(dataDirectory, 'host.json')

const schema = z.strictObject({ file: mark, origin: z.string(), token: z.string(), seal: z.string() })
const sealedAs = 'address'

/** Makes an address known until disposed; one of an earlier host is replaced. Errors: AppError 'file/unwritable'. */
export function publishAddress(dataDirectory: string, { origin, token }: HostAddress): Disposable {
  const name = addressFile(dataDirectory)
  using file = new AtomicFile(name)
  const seal = ownSeal(dataDirectory, sealedAs, [origin, token])
  file.write(Buffer.from(JSON.stringify({ file: markOf(file.status), origin, token, seal })))
  file.commit()
  return {
    [Symbol.dispose]() {
      if (publishedAddress(dataDirectory)?.token === token) rmSync(name, { force: true })
    },
  }
}

/** Finds the address of a host, which may have been killed since. null: none, or a file that came from elsewhere. Errors: AppError 'file/unreadable'. */
export function publishedAddress(dataDirectory: string): HostAddress | null {
  const own = readIfOwn(addressFile(dataDirectory))
  const { data } = schema.safeParse(own && parsedJson(Buffer.from(own.bytes).toString('utf8')))
  if (own === null || data === undefined) return null
  const { file, seal, origin, token } = data
  const isOwn = isMarked(file, own.status) && isOwnSeal(seal, dataDirectory, sealedAs, [origin, token])
  return isOwn && isOnThisMachine(origin) ? { origin, token } : null
}
