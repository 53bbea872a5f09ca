/** The README of a repository on a hub, as far as programs read it: its front matter, and the licence that stands there. */
import { attempt } from '#shared/attempt.ts'
import { shorten } from '#shared/plural.ts'
import { isJsonObject, type JsonObject } from '#host/files/strictJson.ts'
import { parseYaml } from '#host/files/yaml.ts'

/** Returns the front matter; empty if there is none, or it cannot be read. */
export function frontMatter(readme: string): JsonObject {
  const [, text] = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---/.exec(readme) ?? []
  const matter = text === undefined ? null : parsed(text)
  return isJsonObject(matter) ? matter : {}
}

const parsed = (yaml: string): unknown =>
  attempt(() => parseYaml(yaml, { schema: 'core', maxAliasCount: 10 }), null)

export interface License {
  /** An identifier such as `apache-2.0`, or what its makers call it. */
  readonly name: string
  /** Address of its text, or the name of a file beside the card; null if the card states neither. */
  readonly link: string | null
}

/** The licence of a card's fields; a link may be the name of a file beside the card. null: none is stated. */
export function licenseOfCard({ license, license_name, license_link }: JsonObject): License | null {
  // The hub calls every licence that it has no identifier for `other`.
  const [name] = [license === 'other' ? license_name : license, license].flatMap(nameIn)
  if (name === undefined) return null
  const isLink = typeof license_link === 'string' && /^[\x21-\x7e]{1,500}$/.test(license_link)
  return { name, link: isLink ? license_link : null }
}

/** Some cards list several. */
function nameIn(value: unknown): string[] {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  const names = texts.flatMap((text) => (typeof text === 'string' ? text.trim() : [])).filter(Boolean)
  return names.length === 0 ? [] : [shorten(names.join(', '))]
}
