/** What other tools call a setting, to find it by and to tell it. */
import type { Answer } from '#renderer/client/api.tsx'
import { toolTitles } from '#shared/tools.ts'
import type { FieldSection, SettingField } from './fields.ts'

/** Names by the key of our setting. */
export type ToolNames = Answer<'settings.toolNames'>

export const withToolNames = (sections: readonly FieldSection[], names: ToolNames): FieldSection[] =>
  sections.map((section) => ({
    ...section,
    fields: section.fields.map((field): SettingField => ({ ...field, toolNames: names[field.key] ?? [] })),
  }))

/** “TRL: epsilon, epsilon_high · AgileRL: clip_coef”; empty where no tool has it. */
export const toolNameWords = (names: ToolNames[string]): string =>
  [...Map.groupBy(names, ({ tool }) => tool)]
    .map(([tool, own]) => `${toolTitles[tool]}: ${own.map(({ name }) => name).join(', ')}`)
    .join(' · ')
