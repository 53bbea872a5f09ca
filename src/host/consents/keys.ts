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
  const sent = keyAsSent(key ?? '', `The value of ${use.variable}`)
  if (sent !== '') return sent as AllowedKey
  throw new AppError(
    'config/invalid',
    `The key of the ${named.who} is to be in ${use.variable}, but there is no such environment variable.`,
    'Set it in the environment in which Turnwise is started, or name none.',
  )
}

/**
 * A key without the blanks around it, which no server receives: what comes back is then what is looked for. `what`: how errors call it.
 * Errors: AppError 'config/invalid' for other characters than those that headers carry unchanged.
 */
export function keyAsSent(key: string, what: string): string {
  const sent = key.trim()
  if (/^[ -~]*$/.test(sent)) return sent
  throw new AppError(
    'config/invalid',
    `${what} is no key: it has a line break, or characters beyond ASCII.`,
    'Nothing was sent. Set it to the key alone.',
  )
}

/** Replacement for the value of a key in text from a server. */
export const hiddenKey = '•••'

/** Keys shorter than this are only searched for in the header that they are sent in: a few characters occur in any text. */
const shortestKey = 8

/**
 * Returns a function that replaces the value of a key in text from a server, so that a key that is sent back is never
 * shown, logged or stored. It finds each character as it is or escaped as in JSON, addresses (also one in the other) or
 * HTML, and the whole in base64, also in lines. `header`: the value of the header that it is sent in.
 */
export function keyHider(key: string | null, header = `Bearer ${key}`): (text: string) => string {
  // Less than this is part of too many texts, such as results of tools, and no secret.
  if (key === null || key === '' || header.length < 4) return (text) => text
  const texts = key.length < shortestKey ? [header] : header.length <= longestPiece ? [header, key] : [key]
  const written = texts
    .flatMap(piecesOf)
    .map((piece) => new RegExp([escapable(piece), ...inJson(piece).flatMap(base64Forms)].join('|'), 'g'))
  const hide = (text: string) => written.reduce((left, piece) => left.replaceAll(piece, hiddenKey), text)
  return (text) => hide(text).replaceAll(hiddenRow, hiddenKey)
}

/** The most characters that one pattern looks for: of about two thousand, the engine refuses it in words that quote it. */
const longestPiece = 128
const hiddenRow = new RegExp(`${hiddenKey}(?:${hiddenKey})+`, 'g')

/** Cuts a key into parts that tell it by themselves: its lines, and long ones evenly. */
function piecesOf(text: string): string[] {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim())
  const telling = lines.filter(({ length }) => length >= shortestKey)
  return (telling.length === 0 ? [text.trim()] : telling).flatMap((line) => {
    const size = Math.ceil(line.length / Math.ceil(line.length / longestPiece))
    return Array.from({ length: Math.ceil(line.length / size) }, (_, at) =>
      line.slice(at * size, (at + 1) * size),
    )
  })
}

/** Makes a reviver for `JSON.parse` that hides keys in strings and names, where escapes may have kept them from being found in the text. */
export const hidingStrings =
  (hide: (text: string) => string) =>
  (_: string, value: unknown): unknown => {
    if (typeof value === 'string') return hide(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const entries = Object.entries(value).map(([name, each]): [string, unknown] => [hide(name), each])
    return entries.every(([name]) => Object.hasOwn(value, name)) ? value : Object.fromEntries(entries)
  }

/** A text as it may stand in a string of JSON, of which the whole may then be in base64. */
function inJson(text: string): string[] {
  const escaped = JSON.stringify(text).slice(1, -1)
  return [...new Set([text, escaped, escaped.replaceAll('/', String.raw`\/`)])]
}

/**
 * Backslashes before a character in a text that was put into JSON up to four times. Before the first one they are looked at from their
 * beginning alone, or a long row of them would be gone through from each of them.
 */
const backslash = String.raw`(?:\\|%(?:25){0,3}5[cC])`
const escapes = { first: String.raw`(?:(?<!\\)\\{1,15}|)`, next: `${backslash}{0,15}` }
const unicodeEscapes = {
  first: String.raw`(?:(?<!\\)\\{1,15}|${backslash})u`,
  next: `${backslash}{1,15}u`,
}
/** The percent sign of an address, in addresses in turn, or in JSON. */
const percent = String.raw`(?:%|\\u0025)(?:25){0,3}`

/** A pattern for a text of which any character may be escaped. */
const escapable = (text: string): string =>
  [...text].map((each, at) => anyForm(each, at === 0 ? 'first' : 'next')).join('')

function anyForm(character: string, place: 'first' | 'next'): string {
  const code = character.codePointAt(0) ?? 0
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  const json = units
    .map((unit) => `${unicodeEscapes[place]}${anyCase(unit.toString(16).padStart(4, '0'))}`)
    .join('')
  const address = [...Buffer.from(character)]
    .map((byte) => `${percent}${anyCase(byte.toString(16).padStart(2, '0'))}`)
    .join('')
  const html = `&#(?:0*${code}|[xX]0*${anyCase(code.toString(16))});`
  const plain = character.replace(/[\\^$.*+?()[\]{}|/-]/, String.raw`\$&`)
  const blank = character === ' ' ? String.raw`|\+` : ''
  return `(?:${escapes[place]}(?:${plain}|${address})|${json}|${html}${blank})`
}

const anyCase = (hex: string): string =>
  hex.replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)

const shortestBase64 = 8

/** Matches what may stand between two letters of base64, which is often cut into lines, indented ones too. */
const lineBreak = String.raw`(?:\s|\\{1,15}[rnt]|${percent}(?:0[aAdD9]|20)){0,200}`

/** Patterns for the base64 of a text wherever it begins in a longer one, without the letters that depend on its neighbours. */
const base64Forms = (text: string): string[] =>
  [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64')
    const own = whole.slice(Math.ceil((before * 8) / 6))
    return own.length < shortestBase64 ? [] : [[...own].map(base64Letter).join(lineBreak)]
  })

const base64Letter = (letter: string, at: number): string => {
  const other = { '+': '-', '/': '_' }[letter]
  return other === undefined ? letter : `(?:${anyForm(letter, at === 0 ? 'first' : 'next')}|${other})`
}

/** Finds the uses that were not allowed. Errors: AppError 'config/invalid' for a damaged file of consents. */
export function missingKeys(uses: readonly KeyUse[], consents: string | null): KeyUse[] {
  if (uses.length === 0) return []
  const known = new Set(readConsents(consents).keys.map(keyText))
  return uses.filter((use) => !known.has(keyText(use)))
}

/** Refuses uses that were not allowed. Errors: AppError 'key/not-allowed'; as `missingKeys`. */
export function requireKeys(uses: readonly KeyUse[], consents: string | null): void {
  const missing = missingKeys(uses, consents)
  if (missing.length > 0) throw new KeysError(missing)
}

/** Records uses as allowed. Errors: AppError 'file/unwritable'. */
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

/** Withdraws consents; null: all of them. Returns how many there were. Errors: AppError 'file/unwritable'. */
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
