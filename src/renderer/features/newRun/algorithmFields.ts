/** An algorithm's own settings as fields: its table says kind, default and meaning. */
import { mostOfASetting, type Setting, type SettingsTable } from '#shared/settings.ts'
import type { Bound, Control, FieldSection, SettingField } from './fields.ts'
import { helpWords, labelOf } from './fieldWords.ts'

export interface AlgorithmEntry {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly experience: 'rollout' | 'demonstrations' | 'preferences'
  readonly groupSize: { readonly default: number; readonly minimum: number }
  readonly settings: SettingsTable
}

const algorithmPrefix = 'algorithm.settings'

export const algorithmSection = (algorithm: AlgorithmEntry): FieldSection => ({
  id: 'algorithm',
  title: algorithm.title,
  help: algorithm.description,
  fields: algorithmFields(algorithm),
})

export const algorithmFields = ({ settings }: AlgorithmEntry): SettingField[] =>
  Object.entries(settings).map(([name, setting]) => {
    const key = `${algorithmPrefix}.${name}`
    const isNullable = setting.kind === 'optional-number'
    return {
      key,
      label: labelOf(key),
      help: helpWords(setting.description),
      control: controlOf(setting),
      default: setting.default,
      isNullable,
      emptyWords: isNullable ? 'off' : '',
    }
  })

function controlOf(setting: Setting): Control {
  switch (setting.kind) {
    case 'flag':
      return { kind: 'flag' }
    case 'choice':
      return { kind: 'choice', options: setting.options }
    case 'number-or-pair':
      return { kind: 'number-or-pair' }
    case 'number':
      return {
        kind: 'number',
        isInteger: setting.integer === true,
        from: boundOf(setting.minimum ?? -mostOfASetting),
        to: boundOf(setting.maximum ?? mostOfASetting),
      }
    case 'optional-number':
      return {
        kind: 'number',
        isInteger: false,
        from: boundOf(setting.minimum ?? -mostOfASetting),
        to: boundOf(mostOfASetting),
      }
  }
}

/** The smallest number above 0 stands for “more than 0”. */
const boundOf = (value: number): Bound =>
  value === Number.MIN_VALUE ? { value: 0, isExclusive: true } : { value, isExclusive: false }
