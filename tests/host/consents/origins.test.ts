import { expect, test } from 'vitest'
import { createHostFixture } from '../api/hostFixture.ts'

const variable = 'TURNWISE_TEST_SECRET'

test.each([
  'http://a.example/v1',
  'http://a.example\u202e',
  'a.example',
  'http://b@a.example',
  'ftp://a.example',
])('an origin is none that says more or less: %s', async (text) => {
  await using fixture = createHostFixture()
  const allow = (given: string) => fixture.client.call('keys.allow', { keys: [{ variable, origin: given }] })
  await expect(allow(text)).rejects.toMatchObject({ code: 'usage/invalid' })
  expect(await fixture.client.call('keys.allowed')).toEqual([])
  await allow('HTTP://a.example:80/')
  expect(await fixture.client.call('keys.allowed')).toMatchObject([{ variable, origin: 'http://a.example' }])
})
