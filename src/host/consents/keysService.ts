/** Procedures by which the owner of this machine allows keys to be sent; no other gives this consent. */
import type { Handlers } from '#shared/api/contract.ts'
import type { keysApi } from '#shared/api/keys.ts'
import { keyUsesOf } from '#shared/config/keyUses.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import type { Host } from '#host/host.ts'
import { readOwnConfig } from '#host/runs/runFolder.ts'
import { consentsFile, readConsents } from './consents.ts'
import { allowKeys, missingKeys, withdrawKeys } from './keys.ts'

export function keysService({ dataDirectory, store }: Host): Handlers<typeof keysApi> {
  const consents = consentsFile(dataDirectory)
  return {
    missing({ runId }) {
      const config = parseRunConfig(readOwnConfig(store.runs.get(runId).directory))
      return missingKeys(keyUsesOf(config), consents)
    },
    allow: ({ keys }) => allowKeys(keys, consents),
    allowed: () => [...readConsents(consents).keys].sort((a, b) => b.at - a.at),
    withdraw: ({ keys }) => void withdrawKeys(keys, consents),
  }
}
