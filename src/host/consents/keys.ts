/**
 * The one door to the values of environment variables that a config names: a config may come from anybody and name any variable
 * and any address, so the owner of the machine says once which value may be sent where.
 */
import { AppError, KeysError, type KeyUse } from '#shared/errors.ts'
import { keyText, keyUse } from '#shared/config/keyUses.ts'
import { changeConsents, readConsents } from './consents.ts'

/** A value that `allowedKey` has let pass: nothing else makes one, and a connection takes nothing else. */
export type AllowedKey = string & { readonly [isAllowed]: true }
declare const isAllowed: unique symbol

export interface KeyPlace {
  /** The consents of this machine; null: no key is sent. */
  readonly consents: string | null
  readonly environment: Readonly<Record<string, string | undefined>>
}

/**
 * Reads the value of a variable for the server at an address; null where none is named. `who`: what errors call the server.
 * Errors: AppError 'key/not-allowed'; 'config/invalid' where there is no such variable.
 */
export function allowedKey(
  named: { readonly variable: string | null; readonly address: string; readonly who: string },
  { consents, environment }: KeyPlace,
): AllowedKey | null {
  const use = keyUse(named.variable, named.address)
  if (use === null) return null
  requireKeys([use], consents)
  const key = environment[use.variable]
  if (key !== undefined && key !== '') return key as AllowedKey
  throw new AppError(
    'config/invalid',
    `The key of the ${named.who} is to be in ${use.variable}, but there is no such environment variable.`,
    'Set it in the environment in which Turnwise is started, or name none.',
  )
}

/** Stands where a text of a server had the value of a key. */
export const hiddenKey = '•••'

/** Shorter ones are looked for only in the forms in which they are sent: a few characters stand in any text. */
const shortestKey = 8

/**
 * What replaces the value of a key in what a server says, so that none that is sent back is shown, logged or stored: as it is, in
 * JSON, in an address, in base64, and as the header had it.
 */
export function keyHider(key: string | null): (text: string) => string {
  if (key === null || key === '') return (text) => text
  const header = `Bearer ${key}`
  const base64 = [key, header].map((each) => Buffer.from(each).toString('base64').replace(/=+$/, ''))
  const forms = [
    ...[header, encodeURIComponent(header)],
    ...(key.length < shortestKey ? [base64[1] ?? ''] : [key, encodeURIComponent(key), ...base64]),
  ]
  const written = forms.flatMap((form) => [
    form,
    JSON.stringify(form).slice(1, -1),
    form.replaceAll('+', '-').replaceAll('/', '_'),
  ])
  const longestFirst = [...new Set(written)].sort((a, b) => b.length - a.length)
  return (text) => longestFirst.reduce((left, form) => left.replaceAll(form, hiddenKey), text)
}

/** Finds those that were not allowed. Errors: AppError 'config/invalid' for a damaged file of consents. */
export function missingKeys(uses: readonly KeyUse[], consents: string | null): KeyUse[] {
  if (uses.length === 0) return []
  const known = new Set(readConsents(consents).keys.map(keyText))
  return uses.filter((use) => !known.has(keyText(use)))
}

/** Refuses what was not allowed. Errors: AppError 'key/not-allowed'; as `missingKeys`. */
export function requireKeys(uses: readonly KeyUse[], consents: string | null): void {
  const missing = missingKeys(uses, consents)
  if (missing.length > 0) throw new KeysError(missing)
}

/** Writes down what is allowed. Errors: AppError 'file/unwritable'. */
export function allowKeys(uses: readonly KeyUse[], consents: string): void {
  const at = Date.now()
  changeConsents(consents, ({ keys }) => {
    const all = new Map(keys.map((each) => [keyText(each), each]))
    for (const { variable, origin } of uses) {
      const text = keyText({ variable, origin })
      if (!all.has(text)) all.set(text, { variable, origin, at })
    }
    return { keys: [...all.values()] }
  })
}

/** Takes back what was allowed; null: everything. How many consents there were. Errors: AppError 'file/unwritable'. */
export function withdrawKeys(uses: readonly KeyUse[] | null, consents: string): number {
  const gone = uses && new Set(uses.map(keyText))
  let count = 0
  changeConsents(consents, ({ keys }) => {
    const after = keys.filter((each) => gone?.has(keyText(each)) === false)
    count = keys.length - after.length
    return { keys: after }
  })
  return count
}
