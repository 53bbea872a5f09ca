/**
 * Settings as data: a table says each setting's kind, default and meaning. From the same table come the checked
 * values, their TypeScript type, the form in the window and the published schema.
 */

/** What no number of a table is beyond, either way, where its entry does not say less: nobody could mean it. */
export const mostOfASetting = 1_000_000

export interface NumberSetting {
  readonly kind: 'number'
  readonly default: number
  readonly description: string
  readonly minimum?: number
  readonly maximum?: number
  readonly integer?: boolean
}

/** A number, or null for "off". */
export interface OptionalNumberSetting {
  readonly kind: 'optional-number'
  readonly default: number | null
  readonly description: string
  readonly minimum?: number
}

export interface FlagSetting {
  readonly kind: 'flag'
  readonly default: boolean
  readonly description: string
}

export interface ChoiceSetting<Option extends string> {
  readonly kind: 'choice'
  readonly options: readonly Option[]
  readonly default: Option
  readonly description: string
}

/** One non-negative number, or the pair [low, high]. */
export interface NumberOrPairSetting {
  readonly kind: 'number-or-pair'
  readonly default: number | readonly [number, number]
  readonly description: string
}

export type Setting =
  NumberSetting | OptionalNumberSetting | FlagSetting | ChoiceSetting<string> | NumberOrPairSetting

export type SettingsTable = Readonly<Record<string, Setting>>

type ValueOf<S extends Setting> =
  S extends ChoiceSetting<infer Option>
    ? Option
    : S extends NumberSetting
      ? number
      : S extends OptionalNumberSetting
        ? number | null
        : S extends FlagSetting
          ? boolean
          : number | readonly [number, number]

export type SettingsOf<Table extends SettingsTable> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> }

export const numberSetting = (setting: Omit<NumberSetting, 'kind'>): NumberSetting => ({
  kind: 'number',
  ...setting,
})

export const optionalNumberSetting = (
  setting: Omit<OptionalNumberSetting, 'kind'>,
): OptionalNumberSetting => ({
  kind: 'optional-number',
  ...setting,
})

export const flagSetting = (initial: boolean, description: string): FlagSetting => ({
  kind: 'flag',
  default: initial,
  description,
})

export const choiceSetting = <const Option extends string>(
  options: readonly Option[],
  initial: NoInfer<Option>,
  description: string,
): ChoiceSetting<Option> => ({ kind: 'choice', options, default: initial, description })

export const numberOrPairSetting = (setting: Omit<NumberOrPairSetting, 'kind'>): NumberOrPairSetting => ({
  kind: 'number-or-pair',
  ...setting,
})

export interface CheckedSettings<Table extends SettingsTable> {
  readonly values: SettingsOf<Table>
  /** One sentence each, in plain words; empty when everything is right. */
  readonly problems: readonly string[]
}

/** Fills in the defaults and checks what is given; `path` is where the settings stand in the file. */
export function checkSettings<Table extends SettingsTable>(
  table: Table,
  given: Readonly<Record<string, unknown>>,
  path: string,
): CheckedSettings<Table> {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(table)) {
    const value =
      given[name] ?? (name in given && setting.kind === 'optional-number' ? null : setting.default)
    const wanted = violated(setting, value)
    if (wanted !== null) problems.push(`${path}.${name}: expected ${wanted}, got ${JSON.stringify(value)}.`)
    values[name] = value
  }
  for (const name of Object.keys(given)) {
    if (!(name in table))
      problems.push(`${path}.${name}: unknown setting; known are ${Object.keys(table).join(', ')}.`)
  }
  // Each value was checked against its own entry of the table just above.
  return { values: values as SettingsOf<Table>, problems }
}

/** What was expected, or null when the value fits. */
function violated(setting: Setting, value: unknown): string | null {
  const [fits, wanted] = judge(setting, value)
  return fits ? null : wanted
}

/** Whether the value fits, and what would. */
function judge(setting: Setting, value: unknown): readonly [boolean, string] {
  switch (setting.kind) {
    case 'number':
      return [isNumberWithin(setting, value), describeNumber(setting)]
    case 'optional-number':
      return [value === null || isNumberWithin(setting, value), `${describeNumber(setting)} or null`]
    case 'flag':
      return [typeof value === 'boolean', 'true or false']
    case 'choice':
      return [setting.options.some((option) => option === value), `one of ${setting.options.join(', ')}`]
    case 'number-or-pair':
      return [
        isNumberOrPair(value),
        `${describeNumber({ minimum: 0 })}, or a pair [low, high] of such with low ≤ high`,
      ]
  }
}

type Limits = { readonly minimum?: number; readonly maximum?: number; readonly integer?: boolean }

function isNumberWithin(limits: Limits, value: unknown): boolean {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false
  if (limits.integer === true && !Number.isInteger(value)) return false
  return value >= (limits.minimum ?? -mostOfASetting) && value <= (limits.maximum ?? mostOfASetting)
}

function describeNumber({ integer, minimum = -mostOfASetting, maximum = mostOfASetting }: Limits): string {
  const noun = integer === true ? 'a whole number' : 'a number'
  // The smallest number above 0 stands for “more than 0”.
  return minimum === Number.MIN_VALUE
    ? `${noun} above 0, at most ${maximum}`
    : `${noun} from ${minimum} to ${maximum}`
}

function isNumberOrPair(value: unknown): boolean {
  if (!Array.isArray(value)) return isNumberWithin({ minimum: 0 }, value)
  const [low, high] = value as readonly unknown[]
  if (value.length !== 2 || !isNumberWithin({ minimum: 0 }, low) || !isNumberWithin({ minimum: 0 }, high))
    return false
  return (low as number) <= (high as number)
}
