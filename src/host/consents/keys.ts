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
  const key = Object.hasOwn(environment, use.variable) ? environment[use.variable] : undefined
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
 * What replaces the value of a key in what a server says, so that none that is sent back is shown, logged or stored: each character
 * as it is or escaped as in JSON, addresses or HTML, and the whole in base64.
 */
export function keyHider(key: string | null): (text: string) => string {
  if (key === null || key === '') return (text) => text
  const header = `Bearer ${key}`
  const forms = [
    ...[escapable(header), ...base64Forms(header)],
    ...(key.length < shortestKey ? [] : [escapable(key), ...base64Forms(key)]),
  ]
  const written = new RegExp(forms.join('|'), 'g')
  return (text) => text.replaceAll(written, hiddenKey)
}

/** A pattern for a text of which any character may be escaped. */
const escapable = (text: string): string => [...text].map(anyForm).join('')

function anyForm(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  const json = units
    .map((unit) => String.raw`\\{1,4}u${anyCase(unit.toString(16).padStart(4, '0'))}`)
    .join('')
  const address = [...Buffer.from(character)]
    .map((byte) => `%${anyCase(byte.toString(16).padStart(2, '0'))}`)
    .join('')
  const html = `&#(?:0*${code}|[xX]0*${anyCase(code.toString(16))});`
  return `(?:${String.raw`\\{0,4}`}${character.replace(/[\\^$.*+?()[\]{}|/-]/, String.raw`\$&`)}|${json}|${address}|${html}${character === ' ' ? String.raw`|\+` : ''})`
}

const anyCase = (hex: string): string =>
  hex.replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)

const shortestBase64 = 8

/** Patterns for the base64 of a text wherever it begins in a longer one, without the letters that depend on its neighbours. */
const base64Forms = (text: string): string[] =>
  [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64')
    const own = whole.slice(Math.ceil((before * 8) / 6))
    return own.length < shortestBase64
      ? []
      : [own.replaceAll('+', String.raw`(?:\+|-|%2[bB])`).replaceAll('/', String.raw`(?:\\?/|_|%2[fF])`)]
  })

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
