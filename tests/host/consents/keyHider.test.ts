import { expect, test } from 'vitest'
import { keyHider } from '#host/consents/keys.ts'

test('no escape of a key’s letters hides it from what hides it', () => {
  const key = 'wecret+value/SECRET'
  const hide = keyHider(key)
  const forms = [
    '\\u0077ecret+value/SECRET',
    '\\\\u0077ecret+value\\/SECRET',
    'wecret%2bvalue%2fSECRET',
    '%77ecret%2Bvalue%2FSECRET',
    '&#119;ecret&#x2B;value/SECRET',
    `Bearer ${key}`,
  ]
  for (const form of forms) expect(hide(`<${form}>`)).toBe('<•••>')
  for (const before of ['', 'a', 'ab']) {
    const told = hide(Buffer.from(`${before}${key}, and more`).toString('base64'))
    expect(told).toContain('•••')
    expect(Buffer.from(told.replaceAll('•••', ''), 'base64').toString()).not.toContain('cret')
  }
  expect(hide('nothing of it')).toBe('nothing of it')
  expect(keyHider('short')('short words, Bearer short')).toBe('short words, •••')
})
