import { chromium } from '@playwright/test'
import path from 'node:path'
import { dataDirectory, isolated, noTrace, traces, whyNotIsolated } from '../isolation/isolated.ts'
import { windowVariable } from './host.ts'
import { expect, test } from './support.ts'

test('the window and a run that is watched in it ask no other machine for anything @whole', ({
  launchOptions,
}) => {
  const reason = whyNotIsolated()
  test.skip(reason !== null, `Programs cannot be isolated here: ${reason ?? ''}`)
  const script = path.resolve(import.meta.dirname, '../isolation/serving.ts')
  const browser = launchOptions.executablePath ?? chromium.executablePath()
  const seen = isolated([process.execPath, script, dataDirectory, process.env[windowVariable] ?? '', browser])
  expect(seen, seen.output).toMatchObject({ status: 0 })
  expect(traces(seen)).toEqual(noTrace)
})
