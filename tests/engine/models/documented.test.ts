import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { architectures } from '#engine/models/registry.ts'

const root = path.join(import.meta.dirname, '../../..')
const page = (name: string) => readFileSync(path.join(root, name), 'utf8')

test('docs/models.md lists the families there are; README and guide link to it and list none', () => {
  const [, families = ''] = page('docs/models.md').split('## Families\n')
  const table = families.slice(families.indexOf('| ---'), families.indexOf('\n\nEach family'))
  const rows = [...table.matchAll(/^\| `(\w+)` /gm)].map(([, type]) => type ?? '')
  const types = architectures.map(({ modelType }) => modelType)
  expect(rows.sort()).toEqual([...types].sort())
  expect(page('README.md')).toContain('docs/models.md#families')
  expect(page('docs/guide/add-a-model.md')).toContain('[Models](../models.md)')
  for (const name of readdirSync(path.join(root, 'docs/guide')))
    expect(page(`docs/guide/${name}`)).not.toMatch(/`qwen2`|`llama`/)
})
