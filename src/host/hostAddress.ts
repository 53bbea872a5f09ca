/** Where the host that serves a data directory is reached by the owner’s other programs: a file that counts only while and where it was written. */
import { fstatSync, closeSync, constants, openSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { isOnThisMachine } from '#shared/config/addresses.ts'
import type { HostAddress } from '#shared/api/webSocketPort.ts'
import { AtomicFile } from '#host/files/atomic.ts'
import { isMarked, mark, markOf } from '#host/consents/consents.ts'
import { parsedJson } from '#shared/parsedJson.ts'

const addressFile = (dataDirectory: string): string => path.join(dataDirectory, 'host.json')

const schema = z.strictObject({ file: mark, origin: z.string(), token: z.string() })

/** Makes an address known until disposed; one of an earlier host is replaced. Errors: AppError 'file/unwritable'. */
export function publishAddress(dataDirectory: string, { origin, token }: HostAddress): Disposable {
  const name = addressFile(dataDirectory)
  using file = new AtomicFile(name)
  file.write(Buffer.from(JSON.stringify({ file: markOf(file.status), origin, token })))
  file.commit()
  return {
    [Symbol.dispose]() {
      if (publishedAddress(dataDirectory)?.token === token) rmSync(name, { force: true })
    },
  }
}

/** Finds the address of a host, which may have been killed since. null: none, or a file that came from elsewhere. */
export function publishedAddress(dataDirectory: string): HostAddress | null {
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    const handle = openSync(addressFile(dataDirectory), O_RDONLY | O_NOFOLLOW | O_NONBLOCK) // undefined on Windows: 0
    try {
      const status = fstatSync(handle, { bigint: true })
      const isSmall = status.isFile() && status.size < 10_000n
      const { data } = schema.safeParse(isSmall ? parsedJson(readFileSync(handle, 'utf8')) : null)
      const isOurs = data !== undefined && isMarked(data.file, status) && isOnThisMachine(data.origin)
      return isOurs ? { origin: data.origin, token: data.token } : null
    } finally {
      closeSync(handle)
    }
  } catch {
    return null
  }
}
