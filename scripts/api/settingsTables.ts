/**
 * Tables of settings in docs/algorithms, from the schemas: a page has `<!-- settings: ID -->` where the table of that algorithm
 * begins and `<!-- end of settings -->` where it ends.
 */
import { algorithms } from '#rl/algorithms/registry.ts'
import { grpo } from '#rl/algorithms/grpo.ts'
import { fieldsOf, type SettingField } from '#shared/config/fields.ts'
import { maxSetting, type SettingsTable } from '#shared/config/settings.ts'

type Algorithm = (typeof algorithms)[number]

const code = (text: string): string => `\`${text}\``
const names = (all: readonly string[]): string => all.map(code).join(', ')

/** What else a setting takes, beside its default: other choices, and limits other than 0. */
function othersOf({ control, default: usual }: SettingField): string {
  if (control.kind === 'choice')
    return `or ${names(control.options.map(({ value }) => value).filter((value) => value !== usual))}`
  if (control.kind === 'number-or-pair') return 'or a pair'
  if (control.kind === 'flag') return ''
  if (control.kind !== 'number' || control.from === null)
    throw new Error(`Expected words for settings of the kind ${control.kind}.`)
  const { from, to } = control
  if (to !== null && to.value < maxSetting) return `${String(from.value)} to ${String(to.value)}`
  const low = `${from.isExclusive ? 'above' : 'at least'} ${String(from.value)}`
  return low === 'at least 0' ? '' : low
}

function rowOf(table: SettingsTable, field: SettingField): string {
  const name = field.key.slice(1)
  const others = othersOf(field)
  const description = table[name]?.meta()?.description ?? ''
  const words = field.empty === '' ? description : `${description} \`null\`: ${field.empty}.`
  const usual = code(String(field.default))
  return `| ${code(name)} | ${others === '' ? usual : `${usual}, ${others}`} | ${words} |`
}

/** Settings that are GRPO's to the last word are named in one row. */
function sharedRow({ id, settings }: Algorithm): string[] {
  const theirs: SettingsTable = grpo.settings
  const shared = Object.keys(settings).filter((name) => settings[name] === theirs[name])
  if (id === grpo.id || shared.length === 0) return []
  const missing = Object.keys(theirs).filter((name) => !(name in settings))
  const isMost = shared.length > missing.length
  const words = isMost ? `all others of [GRPO](grpo.md#settings), without ${names(missing)}` : names(shared)
  return [isMost ? `| ${words} | | |` : `| ${words} | | as [GRPO's](grpo.md#settings) |`]
}

function tableOf(algorithm: Algorithm): string {
  const { id, settings, groupSize, experience } = algorithm
  const table: SettingsTable = settings
  const shared: SettingsTable = id === grpo.id ? {} : grpo.settings
  const own = fieldsOf(table, '').filter(({ key }) => table[key.slice(1)] !== shared[key.slice(1)])
  const { default: usual, minimum } = groupSize
  const group = `| \`rollout.groupSize\` | ${code(String(usual))}, at least ${String(minimum)} | Completions per prompt. |`
  return [
    ...['| Setting | Default | Meaning |', '|---|---|---|'],
    ...own.map((field) => rowOf(table, field)),
    ...sharedRow(algorithm),
    ...(experience === 'rollout' ? [group] : []),
  ].join('\n')
}

/** Writes the tables of a page anew. Errors: a table of an algorithm that does not exist. */
export const withSettings = (page: string): string =>
  page.replaceAll(
    /(<!-- settings: ([\w-]+) -->\n)[^]*?(<!-- end of settings -->)/g,
    (_, begin: string, id: string, end: string) => {
      const algorithm = algorithms.find((each) => each.id === id)
      if (algorithm === undefined)
        throw new Error(`docs/algorithms has settings of ${id}, which does not exist.`)
      return `${begin}\n${tableOf(algorithm)}\n\n${end}`
    },
  )
