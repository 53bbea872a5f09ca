import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { performers } from '#host/jobs/process/performers.ts'

test('every job that is named somewhere has its code', () => {
  const named = globSync('src/host/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/: Job<\s*'([^']+)'/g)].map(([, name = '']) => name),
  )
  expect(named.length).toBeGreaterThan(15)
  expect(named.toSorted()).toEqual(Object.keys(performers).toSorted())
})

test.each(Object.entries(performers))('the code of “%s” loads', async (_, load) => {
  expect(await load()).toBeTypeOf('function')
})
