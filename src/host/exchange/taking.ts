/** Takes over the settings of a file, one by one, and notes what is not quite the same. */
import { isEqual, valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { toolTitles, type ToolId } from '#shared/tools.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import type { ImportNote, TakenSetting } from './importNotes.ts'
import { asText, type Link } from './links.ts'
import type { FixedSetting } from './settingRow.ts'
import { fixedFor, rowsFor } from './settingsTable.ts'

/** A row without a file; the person chooses one. */
export const unnamedModel = 'model'
export const unnamedData = 'train.jsonl'
export const unnamedRun: JsonObject = { model: unnamedModel, data: { train: unnamedData } }

export interface NamedValue {
  readonly written: string
  readonly value: unknown
}

export interface TakingFrom {
  readonly tool: ToolId
  readonly algorithm: string
  /** Settings by the table's names for them. */
  readonly settings: ReadonlyMap<string, NamedValue>
  /** Names that stand in the file without one value. */
  readonly unknown: ReadonlySet<string>
  /** True if the file may have settings that cannot be read. */
  readonly hasUnread: boolean
  /** Default config of the algorithm. */
  readonly initial: RunConfig
}

/** Goes through the table and keeps a draft of our config. */
export class Taking {
  readonly notes: ImportNote[] = []
  readonly taken: TakenSetting[] = []
  draft: Record<string, unknown>
  readonly #tool: ToolId
  readonly #algorithm: string
  readonly #settings: ReadonlyMap<string, NamedValue>
  readonly #unknown: ReadonlySet<string>
  readonly #hasUnread: boolean
  readonly #taken = new Set<string>()
  readonly #initial: RunConfig

  constructor({ tool, algorithm, settings, unknown, hasUnread, initial }: TakingFrom) {
    this.#tool = tool
    this.#algorithm = algorithm
    this.#settings = settings
    this.#unknown = unknown
    this.#hasUnread = hasUnread
    this.#initial = initial
    this.draft = { ...unnamedRun, algorithm: { id: algorithm } }
  }

  takeAll(): void {
    for (const row of rowsFor(this.#algorithm)) {
      const link = row[this.#tool]
      if (link?.read !== undefined) this.#take(row.ours, link, link.read)
    }
  }

  #take(ours: string, link: Link, read: NonNullable<Link['read']>): void {
    const names = Object.keys(link.keys)
    const told = names.filter((name) => this.#settings.has(name))
    const before = this.notes.length
    const value = read(
      (name) => this.#valueOf(name, link),
      told.length > 0 ? (sentence) => this.#remark(sentence, told, names) : () => undefined,
    )
    if (value === undefined) this.#sayKept(ours, before)
    for (const name of told) this.#taken.add(name)
    this.#noteUnread(told, value, link)
    // A number of steps outweighs a number of passes, there as here.
    if (ours === 'passes' && typeof this.draft['steps'] === 'number') return
    this.#draw(ours, value, told, link)
  }

  /** Takes a value into the config that is made. */
  #draw(ours: string, value: unknown, told: readonly string[], link: Link): void {
    if (told.length > 0 && value !== undefined)
      this.taken.push({ ours, value, theirs: told.map(this.#written) })
    if (value === undefined || isEqual(value, valueAt(this.#initial, ours))) return
    this.draft = withValue(this.draft, ours, value)
    if (told.length === 0) this.#noteFilled(ours, value, link)
  }

  /** Returns what the file says, or the tool's default; null: neither. */
  #valueOf(name: string, { keys }: Link) {
    return (this.#settings.has(name) ? this.#settings.get(name)?.value : keys[name]) ?? null
  }

  /** Notes how a value was changed; notes on a single setting begin with its name. */
  #remark(sentence: string, told: readonly string[], names: readonly string[]): void {
    const name = this.#written(told[0] ?? '')
    const isNamed = names.length > 1 || told.some((each) => sentence.includes(each))
    this.notes.push({ kind: 'changed', name, text: isNamed ? sentence : `${name}: ${sentence}` })
  }

  /** Notes the default that a run has instead of a value that was not taken. Rows and models have none. */
  #sayKept(ours: string, before: number): void {
    const last = this.notes.at(-1)
    if (last === undefined || this.notes.length === before || /^(data|model|name)\b/.test(ours)) return
    const text = `${last.text} ${ours} is ${shown(valueAt(this.#initial, ours))}, Turnwise’s default.`
    this.notes[this.notes.length - 1] = { ...last, text }
  }

  /** A word where the tool has a number. */
  #noteUnread(told: readonly string[], value: unknown, { keys }: Link): void {
    if (value !== undefined) return
    for (const name of told) {
      const setting = this.#settings.get(name)
      if (setting === undefined || setting.value === null) continue
      if (typeof keys[name] !== 'number' || typeof setting.value === 'number') continue
      const text = `${setting.written} (${shown(setting.value)}) was skipped: it is a number in ${toolTitles[this.#tool]}.`
      this.notes.push({ kind: 'left-out', name: setting.written, text })
    }
  }

  #noteFilled(ours: string, value: unknown, { keys }: Link): void {
    const [name, initial] = Object.entries(keys)[0] ?? [ours, value]
    if (Object.keys(keys).length === 0) {
      const text = `${ours} is ${shown(value)}, as always in ${toolTitles[this.#tool]} (Turnwise’s default is ${shown(valueAt(this.#initial, ours))}).`
      this.notes.push({ kind: 'filled-in', name: ours, text })
      return
    }
    const isOpen = this.#hasUnread || this.#unknown.has(name)
    const silence = isOpen ? 'the file has no known value of' : 'the file does not set'
    const text = `${ours} is ${shown(value)}: ${silence} ${name}, whose default in ${toolTitles[this.#tool]} is ${shown(initial)} (Turnwise’s default is ${shown(valueAt(this.#initial, ours))}).`
    this.notes.push({ kind: 'filled-in', name: ours, text })
  }

  readonly #written = (name: string): string => this.#settings.get(name)?.written ?? name

  /** Notes settings that were not used. `decided`: those that chose the algorithm. */
  noteRest(decided: readonly string[]): void {
    const fixed = new Map(fixedFor(this.#tool, this.#algorithm).map((row) => [row.name, row]))
    for (const [name, setting] of this.#settings) {
      if (!decided.includes(name) && !this.#isTaken(name))
        this.#noteLeft(setting, fixed.get(name) ?? sectionOf(name, fixed))
    }
    this.#noteSilence(fixed.values())
  }

  /** Notes defaults of the tool that differ here and that the file does not set. */
  #noteSilence(fixed: Iterable<FixedSetting>): void {
    for (const { name, value, initial, because } of fixed) {
      const isSaid = this.#settings.has(name) || this.#unknown.has(name)
      if (initial === undefined || isSaid || isEqual(initial, value)) continue
      const silence = this.#hasUnread ? 'has no known value of' : 'does not set'
      const text = `The file ${silence} ${name}, whose default in ${toolTitles[this.#tool]} is ${shown(initial)}: ${because}.`
      this.notes.push({ kind: 'left-out', name, text })
    }
  }

  /** Returns true if the name was taken; also a section if a part of it was. */
  #isTaken(name: string): boolean {
    const isPart = (other: string) => other.startsWith(`${name}.`) || name.startsWith(`${other}.`)
    return this.#taken.has(name) || [...this.#taken].some(isPart)
  }

  /** A coefficient may be that of another algorithm or tool than the file's. */
  #whyUnknown(written: string): string {
    const tool = toolTitles[this.#tool]
    const row = rowsFor(this.#algorithm).find(({ ours }) => ourCoefficients.includes(ours))
    const own = Object.keys(row?.[this.#tool]?.keys ?? {})[0]
    if (own === undefined || !coefficients.test(written))
      return `it is not among the settings of ${tool} that Turnwise knows for ${this.#algorithm}`
    return `it is no setting of ${algorithmById(this.#algorithm).title} in ${tool}, which reads ${own}`
  }

  #noteLeft({ written, value }: NamedValue, fixed: FixedSetting | undefined): void {
    if (fixed !== undefined && 'value' in fixed && isEqual(fixed.value, value)) return
    if (fixed?.unless !== undefined && this.#settings.get(fixed.unless)?.value === true) return
    const because = fixed?.because ?? this.#whyUnknown(written)
    const text = `${written} (${shown(value)}) was skipped: ${because}.`
    this.notes.push({ kind: 'left-out', name: written, text })
  }
}

/** The section that a setting stands in, where all of it is left aside. */
function sectionOf(name: string, fixed: ReadonlyMap<string, FixedSetting>): FixedSetting | undefined {
  const section = fixed.get(name.replace(/\..*$/, ''))
  return section === undefined || 'value' in section ? undefined : section
}

/** The coefficient of the reference by the names that algorithms and tools give it. */
const coefficients =
  /(^|\.)(beta|(dpo|rl|pref|grpo|kl)_beta|(init_)?kl_coef|kl_ctl|kl_coefficient|kl_penalty)$/i
const ourCoefficients = ['algorithm.settings.klCoefficient', 'algorithm.settings.beta']

const shown = (value: unknown): string => {
  const text = asText(value)
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}
