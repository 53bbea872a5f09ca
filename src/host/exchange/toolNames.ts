/** The names of a file as the table of settings has them, whatever sections, capitals and earlier versions they are written in. */
import { isEqual, isObject } from '#shared/config/paths.ts'
import type { ToolId } from '#shared/tools.ts'
import { isGiven, type Evidence } from './evidence.ts'
import type { ImportNote } from './importNotes.ts'
import { asText, entryOf } from './links.ts'
import { pythonFlag } from './scalars.ts'
import { flagsIn, namesIn } from './settingsTable.ts'
import type { FlatSettings, SettingsSource } from './settingsSource.ts'
import type { NamedValue } from './taking.ts'

interface FoundNames {
  readonly settings: FlatSettings
  /** Names that a search varies, as written. */
  readonly searched: readonly string[]
}

export class FileNames implements Evidence {
  /** Settings by the table's names for them. */
  readonly values: ReadonlyMap<string, NamedValue>
  /** Names whose values the file does not tell. */
  readonly unknown: ReadonlySet<string>
  readonly hasUnread: boolean
  /** Notes on names for a setting that another name of the file sets differently. */
  readonly notes: readonly ImportNote[]
  readonly program: string | null
  readonly #tool: ToolId | null
  readonly #searched: ReadonlySet<string>

  constructor(tool: ToolId | null, { settings, searched }: FoundNames, source: SettingsSource) {
    this.#tool = tool
    this.program = source.program
    this.hasUnread = source.hasUnread
    const flags = tool === null ? new Set() : flagsIn(tool)
    const all = [...gathered(tool, settings)].map(([written, value]) => ({
      written,
      value: flags.has(this.common(written)) ? pythonFlag(value) : value,
    }))
    const named = Map.groupBy(all, ({ written }) => this.common(written))
    const known = tool === null ? new Set() : namesIn(tool)
    this.values = new Map([...named].map(([name, each]) => [name, meant(each)]))
    this.notes = [...named].flatMap(([name, each]) => (known.has(name) ? others(each) : []))
    this.#searched = new Set(searched.map(this.common))
    const left = source.notes.flatMap(({ kind, name }) => (kind === 'left-out' ? [name] : []))
    this.unknown = new Set([...left, ...source.computed].map(this.common))
  }

  /** Names that stand in the file without one value: not known, or searched. */
  get withoutValue(): ReadonlySet<string> {
    return new Set([...this.unknown, ...this.#searched])
  }

  /** Returns a name as the table has it. */
  readonly common = (written: string): string => {
    if (this.#tool === null) return written
    return commonName(this.#tool, written)
  }

  readonly given = (name: string): unknown => this.values.get(name)?.value

  readonly has = (name: string): boolean => isGiven(this.given(name)) || this.#searched.has(name)

  readonly isUnknown = (name: string): boolean => this.unknown.has(name)
}

/** Chooses among several names for a setting the one that the tool gives precedence, else the last. */
const meant = (named: readonly NamedValue[]): NamedValue =>
  named.reduce((taken, each) =>
    /^(algorithm\.|vllm_importance_sampling_cap$)/.test(taken.written) ? taken : each,
  )

const others = (named: readonly NamedValue[]): ImportNote[] => {
  const { written: taken, value } = meant(named)
  return named
    .filter((each) => !isEqual(each.value, value))
    .map((each) => ({
      kind: 'left-out',
      name: each.written,
      text: `${each.written} (${asText(each.value)}) was skipped: ${taken} (${asText(value)}) stands for the same setting and was taken.`,
    }))
}

/** Sections whose names are a person's own, which are one value. */
const ownSections = /^((?:.*\.)?(?:prompt_template|columns)|dataset_mixer|chat_template_kwargs)\.(.+)$/i

function gathered(tool: ToolId | null, settings: FlatSettings): FlatSettings {
  if (tool !== 'agilerl' && tool !== 'trl') return settings
  const found = new Map<string, unknown>()
  for (const [name, value] of settings) {
    const [, section, key] = ownSections.exec(name) ?? []
    if (section === undefined || key === undefined) found.set(name, value)
    else {
      const known = found.get(section)
      found.set(section, { ...(isObject(known) ? known : {}), [key]: value })
    }
  }
  return found
}

/** AgileRL has sections, or capitals, or neither; the last part of a name tells. */
function commonName(tool: ToolId, written: string): string {
  // Records of runs have it.
  if (written === 'world_size' && tool !== 'agilerl') return 'num_processes'
  if (tool !== 'agilerl') return tool === 'trl' ? trlName(written) : written
  const lower = written.toLowerCase()
  if (/^(algorithm|init_hp)\.(name|algo)$/.test(lower)) return 'algo'
  if (lower.includes('cosine_lr_schedule_config.')) return lower.slice(lower.indexOf('cosine_lr'))
  if (/lora(_config)?\.r$/.test(lower)) return 'lora_r'
  const last = lower.slice(lower.lastIndexOf('.') + 1)
  return entryOf(agilerlAliases, last) ?? last
}

const trlName = (written: string): string => {
  const name = written.replaceAll('-', '_').replace(/^_+/, '')
  return entryOf(trlAliases, name) ?? name
}

/** Names of earlier versions. */
const trlAliases: Readonly<Record<string, string>> = {
  evaluation_strategy: 'eval_strategy',
  torch_dtype: 'dtype',
  vllm_importance_sampling_cap: 'vllm_importance_sampling_clip_max',
}

/** Names of earlier versions, and of its classes where manifests have others. */
const agilerlAliases: Readonly<Record<string, string>> = {
  adv_whitening: 'whiten_advantages',
  action_granularity: 'advantage_granularity',
  model_name: 'pretrained_model_name_or_path',
  vllm_is_cap: 'vllm_importance_sampling_cap',
  eval_interval: 'evaluation_interval',
}
