/** Procedures by which the owner of this machine allows keys to be sent; no other gives this consent. */
import type { Handlers } from '#shared/api/contract.ts'
import type { keysApi } from '#shared/api/keys.ts'
import { keyUse } from '#shared/config/keyUses.ts'
import { type KeyUse, usageError } from '#shared/errors.ts'
import { shownText } from '#shared/shownText.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import type { Host } from '#host/host.ts'
import { keysOfConfig } from '#host/code/rewardCode.ts'
import { readOwnConfig } from '#host/workFolder/runFolder.ts'
import { consentsFile, readConsents } from '#host/consents/consents.ts'
import { allowKeys, missingKeys, withdrawKeys } from '#host/consents/keys.ts'

/** Normalises an origin. Errors: AppError 'usage/invalid' for a text that is not an origin. */
function asOrigin({ variable, origin }: KeyUse): KeyUse {
  const use = keyUse(variable, origin)
  if (use !== null && URL.parse(origin)?.href === `${use.origin}/`) return use
  throw usageError(
    `“${shownText(origin)}” is no origin to which a key could be sent.`,
    'Nothing was allowed. Give scheme, host and port, such as https://api.openai.com.',
  )
}

export function keysService({ dataDirectory, store }: Host): Handlers<typeof keysApi> {
  const consents = consentsFile(dataDirectory)
  return {
    missing({ runId }) {
      const { directory } = store.runs.get(runId)
      return missingKeys(keysOfConfig(parseRunConfig(readOwnConfig(directory)), directory), consents)
    },
    allow: ({ keys }) => allowKeys(keys.map(asOrigin), consents),
    allowed: () => [...readConsents(consents).keys].sort((a, b) => b.at - a.at),
    withdraw: ({ keys }) => void withdrawKeys(keys, consents),
  }
}
