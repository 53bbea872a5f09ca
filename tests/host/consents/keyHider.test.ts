import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { expect, test } from 'vitest'
import { consentsFile } from '#host/consents/consents.ts'
import { allowedKey, allowKeys, keyAsSent, keyHider } from '#host/consents/keys.ts'
import { openHubData } from '#host/hub/fetchData.ts'
import { clientOf, type HubAccess } from '#host/hub/hub.ts'
import { licenseText, openHubModel } from '#host/hub/hubModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { dataRepo, repo, startHub } from '../hub/loopbackHub.ts'

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

const hard = 'sk-"q\\d/e+f'.repeat(8)
const lines = (text: string, width: number, end: string) =>
  text.match(new RegExp(`.{1,${width}}`, 'g'))?.join(end) ?? ''
const base64 = (text: string) => Buffer.from(text).toString('base64')
const inJson = (text: string, times: number): string =>
  times === 0 ? text : inJson(JSON.stringify(text).slice(1, -1), times - 1)

/** Every letter as JSON may write it. */
const jsonCodes = (text: string) =>
  [...Buffer.from(text)].map((byte) => `\\u00${byte.toString(16).padStart(2, '0')}`).join('')

test.each([
  ['base64 in lines of mail', lines(base64(hard), 76, '\r\n')],
  ['base64 in lines of PEM', lines(base64(hard), 64, '\n')],
  ['base64 in lines, in JSON', JSON.stringify(lines(base64(hard), 76, '\n'))],
  ['base64 in indented lines', lines(base64(hard), 76, '\n    ')],
  ['JSON in JSON in JSON', inJson(hard, 3)],
  ['JSON four times', inJson(hard, 4)],
  ['an address in an address', encodeURIComponent(encodeURIComponent(hard))],
  ['an address three times', encodeURIComponent(encodeURIComponent(encodeURIComponent(hard)))],
  ['base64 in lines far to the right', lines(base64(hard), 24, `\n${' '.repeat(60)}`)],
  ['base64 in lines with tabs, in an address', encodeURIComponent(lines(base64(hard), 24, '\n\t\t'))],
  ['JSON in an address', encodeURIComponent(inJson(hard, 1).replaceAll('/', '\\/'))],
  ['JSON in JSON in an address', encodeURIComponent(inJson(hard, 2))],
  ['codes of JSON in an address', encodeURIComponent(jsonCodes(hard))],
  ['codes of an address in JSON', encodeURIComponent(hard).replaceAll('%', '\\u0025')],
  ['JSON in base64', base64(JSON.stringify({ key: hard }))],
  ['JSON in base64, with slashes escaped', base64(JSON.stringify({ key: hard }).replaceAll('/', '\\/'))],
])('a key is found in %s', (_, form) => {
  const told = keyHider(hard)(`before ${form} after`)
  expect(told).toMatch(/^before .{0,16}•••.{0,8} after$/)
})

test('long rows of what may stand in a key cost no more than other text', () => {
  const hide = keyHider(`sk-${'Ab3_dE6-hI9kL2nO5qR8'.repeat(7)}`)
  const rows = [
    ...['\\'.repeat(1e6), `c2st${' \n'.repeat(1e6)}`, '%25'.repeat(1e6), '%5C'.repeat(1e6)],
    ...[`c2st${' '.repeat(199)}`.repeat(5e3), '\\u0025'.repeat(3e5), 's%5C'.repeat(3e5)],
  ]
  for (const row of rows) expect(hide(row)).toBe(row)
})

test('a key of any length is hidden, and no error quotes it', () => {
  const parts = Array.from({ length: 70 }, (_, at) =>
    createHash('sha256').update(`${at}`).digest('base64url'),
  )
  const long = parts.join('.')
  const hide = keyHider(long)
  expect(hide(`<${long}>`)).toBe('<•••>')
  expect(hide(`Bearer ${long}.`)).toBe('Bearer •••.')
  expect(hide(encodeURIComponent(JSON.stringify({ key: long })))).not.toContain(parts[40]!.slice(20))
  const told = hide(base64(`{"key":"${long}"}`)).split('•••')
  expect(told.every((left) => left.length < 24)).toBe(true)
  const short = 'sk-a-short-one'
  expect(keyHider(short, `${'a'.repeat(4200)} ${short}`)(`It is ${short}.`)).toBe('It is •••.')
})

test('a key of several lines is hidden line by line, with blanks around it or not', () => {
  const pem = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASCBKcwggSj\n-----END KEY-----\n'
  const hide = keyHider(pem, pem)
  for (const told of [
    pem,
    JSON.stringify({ key: pem }),
    pem.replaceAll('\n', '\r\n'),
    pem.slice(pem.indexOf('\n') + 1),
    pem.trim(),
  ])
    expect(hide(told)).not.toMatch(/[A-Za-z0-9]{9}/)
  expect(keyHider('sk-live-123456\n', 'sk-live-123456\n')('{"key":"sk-live-123456"}')).toBe('{"key":"•••"}')
})

test('a key is what is sent: without blanks around it, and of characters that headers carry', () => {
  const use = { variable: 'KEY', origin: 'https://judge.example' }
  const consents = consentsFile(temporaryFolder())
  allowKeys([use], consents)
  const read = (value: string) =>
    allowedKey(
      { variable: 'KEY', address: 'https://judge.example/v1', who: 'judge' },
      { consents, environment: { KEY: value } },
    )
  for (const value of ['sk-secret ', ' sk-secret', '\tsk-secret\r\n']) expect(read(value)).toBe('sk-secret')
  expect(() => read('  ')).toThrow('no such environment variable')
  for (const value of ['sk-sécret', 'sk\nsecret', '密钥']) expect(() => read(value)).toThrow('KEY is no key')
  expect(keyAsSent('two words ', 'It')).toBe('two words')
})

const token = 'hf_token-of-ours'
const accessTo = (endpoint: string): HubAccess => ({
  endpoint,
  token: `${token}\n`,
  onRequest: () => {},
  signal: new AbortController().signal,
})

test('the token of a hub is not in the texts of its files that are shown', async () => {
  const [source, data] = [temporaryFolder(), temporaryFolder()]
  const card = `---\nlicense: other\nlicense_name: terms-${token}\n---\n`
  const config = `---\nconfigs:\n  - config_name: ${token}\n    data_files: rows.jsonl\n---\n`
  writeFileSync(path.join(source, 'README.md'), card)
  writeFileSync(path.join(source, 'LICENSE'), `${'x'.repeat((1 << 20) - 4)}${token} may do so.`)
  writeFileSync(path.join(source, 'tiny.gguf'), 'GGUF')
  writeFileSync(path.join(data, 'README.md'), config)
  writeFileSync(path.join(data, 'rows.jsonl'), '{}\n')
  await using hub = await startHub(source, data)
  const access = accessTo(hub.endpoint)
  const model = await openHubModel({ kind: 'model', repo, revision: 'main' }, access)
  expect(model.license?.name).toBe('terms-•••')
  expect(await licenseText(model)).toMatch(/^x+•••/)
  const rows = await openHubData({ kind: 'dataset', repo: dataRepo, revision: 'main' }, access)
  expect(rows.configs.map(({ name }) => name)).toEqual(['•••'])
  expect([...hub.fault.tokens]).toEqual([`Bearer ${token}`])
})

const hexCodes = [...Buffer.from(token)].map((byte) => `\\x${byte.toString(16)}`).join('')

test.each([
  ['its escapes', `"${hexCodes}"`],
  ['its line ends', `"${token.slice(0, 7)}\\\n      ${token.slice(7)}"`],
])('the token of a hub is hidden from cards in YAML with %s', async (_, written) => {
  const [source, data] = [temporaryFolder(), temporaryFolder()]
  writeFileSync(path.join(source, 'README.md'), `---\nlicense: other\nlicense_name: ${written}\n---\n`)
  writeFileSync(path.join(source, 'tiny.gguf'), 'GGUF')
  const config = `---\nconfigs:\n  - config_name: ${written}\n    data_files: rows.jsonl\n---\n`
  writeFileSync(path.join(data, 'README.md'), config)
  writeFileSync(path.join(data, 'rows.jsonl'), '{}\n')
  await using hub = await startHub(source, data)
  const access = accessTo(hub.endpoint)
  const model = await openHubModel({ kind: 'model', repo, revision: 'main' }, access)
  expect(model.license?.name).toBe('•••')
  const rows = await openHubData({ kind: 'dataset', repo: dataRepo, revision: 'main' }, access)
  expect(rows.configs.map(({ name }) => name)).toEqual(['•••'])
})

test('the token of a hub is not in its answers, whatever it calls them', async () => {
  const server = createServer((_, response) =>
    response
      .writeHead(200, { 'content-type': 'text/plain' })
      .end(
        `{"sha":"${token}","in base64":"${jsonCodes(base64(token))}","${jsonCodes(`%68${token.slice(1)}`)}":1}`,
      ),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
  const { fetch: ask } = clientOf(accessTo(endpoint))
  expect(await (await ask(`${endpoint}/api/models/a/b`, undefined)).json()).toEqual({
    sha: '•••',
    '•••': 1,
    'in base64': expect.stringMatching(/^•••.{0,8}$/) as string,
  })
  server.close()
})
