/** Sessions have their thread take denormal numbers for zero: what else runs on it must not lean on them. */
import { expect, test } from 'vitest'
import { numberSetting } from '#shared/config/settings.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { openTiny, tinySource } from './tinyModel.ts'

test('behind a session, settings from 0 on take 0, and those above 0 refuse it', async () => {
  using _policy = await openTiny(await tinySource(temporaryFolder()))
  expect(Math.fround(1e-40) * 2).toBe(0) // or the test says nothing
  const accepts0 = (limits: object) =>
    numberSetting({ default: 1, description: '', ...limits }).safeParse(0).success
  expect(accepts0({ minimum: 0 })).toBe(true)
  expect(accepts0({ isPositive: true })).toBe(false)
})
