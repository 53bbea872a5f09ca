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

/** The licences that a hub has an identifier for; it refuses cards with others. */
const identifiers: ReadonlySet<string> = new Set(
  `apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m bigscience-bloom-rail-1.0 bigcode-openrail-m afl-3.0 artistic-2.0
  bsl-1.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0
  cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0
  cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0 cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 agpl-3.0
  gfdl gpl gpl-2.0 gpl-3.0 lgpl lgpl-2.1 lgpl-3.0 isc lppl-1.3c ms-pl mpl-2.0 odc-by odbl openrail++ osl-3.0 postgresql ofl-1.1 ncsa
  unlicense zlib pddl lgpl-lr deepfloyd-if-license llama2 llama3 llama3.1 llama3.2 llama3.3 gemma apple-ascl apple-amlr`.split(
    /\s+/,
  ),
)

/** The lines of a card's front matter that state a licence. */
export function licenseLines({ name, link }: License): string {
  if (identifiers.has(name)) return `license: ${name}\n`
  const isAddress = link !== null && /^https?:/.test(link)
  return `license: other\nlicense_name: ${JSON.stringify(name)}\n${isAddress ? `license_link: ${JSON.stringify(link)}\n` : ''}`
}
