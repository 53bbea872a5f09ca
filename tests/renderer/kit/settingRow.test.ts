import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { configSections, type SettingField } from '#shared/config/fields.ts'
import { ApiProvider, type ApiClient } from '#renderer/client/api.tsx'
import { SettingRow } from '#renderer/kit/SettingRow.tsx'
import { TooltipProvider } from '#renderer/kit/Tooltip.tsx'
import { studyFields } from '#shared/studies.ts'

const nothing = () => undefined
const silent = { call: () => new Promise(nothing) } as unknown as ApiClient

function rowOf(field: SettingField): string {
  const row = createElement(SettingRow, {
    field,
    value: null,
    base: null,
    isChanged: false,
    onChange: nothing,
    onReset: nothing,
  })
  const withTooltips = createElement(TooltipProvider, null, row)
  const withApi = createElement(ApiProvider, { client: silent, children: withTooltips })
  return renderToStaticMarkup(createElement(QueryClientProvider, { client: new QueryClient() }, withApi))
}

const fields = [
  ...configSections.flatMap((section) => section.fields),
  ...Object.values(studyFields).flat(),
].filter(({ control: { kind } }) => kind === 'number' || kind === 'text')

test('what an empty field means is read whole: in it where it is short, else below it', () => {
  const placeholders = fields.flatMap((field) => /placeholder="([^"]*)"/.exec(rowOf(field))?.[1] ?? [])
  expect(placeholders).toContain('no limit')
  expect(placeholders.filter(({ length }) => length > 22)).toEqual([])
  const parallel = fields.find(({ empty }) => empty === 'as many as cores and memory allow')!
  expect(rowOf(parallel)).toContain('Empty: as many as cores and memory allow.')
})
