/** What a fork is called: «arith-grpo · learning rate 0.001». */
import type { ConfigChanges } from './forkRun.ts'

export interface Naming {
  /** What its parent is called. */
  readonly base: string
  /** Of the checkpoint. */
  readonly step: number
  readonly changes: ConfigChanges
  /** Names of other runs. */
  readonly taken: ReadonlySet<string | null>
}

const separator = ' · '
const mostTold = 2

export function forkName({ base, step, changes, taken }: Naming): string {
  // A longer run alone tells nothing: where it began does.
  const told = Object.entries(changes).filter(([key]) => key !== 'steps')
  const words = told.slice(0, mostTold).map(([key, value]) => `${settingWords(key)} ${valueWords(value)}`)
  const more = told.length > mostTold ? [`${told.length - mostTold} more`] : []
  const own = told.length === 0 ? [`from step ${step}`] : [...words, ...more]
  const name = [
    stem(
      base,
      told.map(([key]) => settingWords(key)),
    ),
    ...own,
  ].join(separator)
  for (let count = 2; ; count++) {
    const next = count === 2 && !taken.has(name) ? name : `${name} (${count})`
    if (!taken.has(next)) return next
  }
}

/** A fork of a fork does not tell the same setting twice. */
const stem = (base: string, settings: readonly string[]): string => {
  const [first = '', ...rest] = base.split(separator)
  const isOld = (part: string) =>
    /^from step \d+/.test(part) || settings.some((words) => part.startsWith(`${words} `))
  return [first, ...rest.filter((part) => !isOld(part))].join(separator)
}

/** `optimization.learningRate` → learning rate. */
const settingWords = (key: string): string =>
  (key.split('.').at(-1) ?? key).replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

const longest = 24

function valueWords(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}
