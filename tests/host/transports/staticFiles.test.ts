/** What the host shows without a token: the window's files and nothing else. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, askRaw, secret, startFixture, type Fixture } from './serverFixture.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await startFixture()
  mkdirSync(path.join(fixture.directory, 'window', 'empty.js'))
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

describe('the window', () => {
  test('is served with its types', async () => {
    const page = await ask(fixture.port, { path: '/?theme=dark' })
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const script = await ask(fixture.port, { path: '/assets/index-Ab_1-.js' })
    expect([script.status, script.headers['content-type'], script.body]).toEqual([
      200,
      'text/javascript; charset=utf-8',
      'console.log(1)',
    ])
    const head = await ask(fixture.port, { method: 'HEAD', path: '/assets/index-Ab_1-.js' })
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, '14', ''])
  })

  test('runs under a strict policy whose nonce is in the page and never the same', async () => {
    const pages = [await ask(fixture.port, {}), await ask(fixture.port, {})]
    const nonces = pages.map(({ body, headers }) => {
      const policy = String(headers['content-security-policy'])
      const nonce = /style-src 'self' 'nonce-([^']+)'/.exec(policy)?.[1] ?? 'none'
      expect(body).toContain(`<style nonce="${nonce}">`)
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'self';")
      expect(policy).toContain(`connect-src 'self' ws://127.0.0.1:${fixture.port};`)
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/unsafe|\*|https?:/)
      return nonce
    })
    expect(new Set(nonces).size).toBe(2)
  })

  test('every answer carries the headers that keep browsers from guessing and telling', async () => {
    const answers = [
      await ask(fixture.port, {}),
      await ask(fixture.port, { path: '/none.js' }),
      await ask(fixture.port, { path: '/api/session' }),
    ]
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'x-frame-options': 'DENY',
      })
      expect(headers).not.toHaveProperty('access-control-allow-origin')
    }
  })

  test('takes no other method', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']) {
      expect((await ask(fixture.port, { method })).status).toBe(405)
    }
  })

  test('where it is not built, a plain page says so', async () => {
    await using other = await startFixture({ staticDirectory: path.join(fixture.directory, 'nowhere') })
    const page = await ask(other.port, {})
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('has not been built')])
    expect((await ask(other.port, { path: '/assets/a.js' })).status).toBe(404)
  })
})

describe('a path out of the window', () => {
  const ways = [
    '/../secret.json',
    '/../../../../../../../../etc/passwd',
    '/assets/../../secret.json',
    '/assets/../index.html',
    '/./index.html',
    '//secret.json',
    '/assets//../../secret.json',
    '/..%2fsecret.json',
    '/%2e%2e/secret.json',
    '/%2e%2e%2fsecret.json',
    '/.%2e/secret.json',
    '/%252e%252e%252fsecret.json',
    '/%c0%ae%c0%ae/secret.json',
    '/%c0%ae%c0%ae%c0%afsecret.json',
    '/%u002e%u002e/secret.json',
    '/..%5csecret.json',
    '/..\\secret.json',
    '/assets\\..\\..\\secret.json',
    '/....//secret.json',
    '/..;/secret.json',
    '/..%00/secret.json',
    '/index.html%00.js',
    '/secret.json%00.html',
    '/../window-private/secret.json',
    '/C:/secret.json',
    '/file:///etc/passwd',
    '/index.html::$DATA',
    '/.git/config.json',
    '/.env.json',
    '/%2egit/config.json',
    '/link.json',
    '/folder/secret.json',
    '/folder/window-private/secret.json',
    '/assets',
    '/assets/',
    '/empty.js',
    '/INDEX.HTML/',
    `/${'a/'.repeat(5000)}x.js`,
    '*',
  ]

  test.each(ways)('%.40s leads nowhere', async (target) => {
    const answer = await askRaw(
      fixture.port,
      `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(answer).not.toContain(secret)
    expect(answer).not.toContain('root:')
  })

  test.each(['http://evil.example/index.html', 'http://127.0.0.1/../secret.json', '/fürst.js', '/a b.js'])(
    'a target in another form is refused: %s',
    async (target) => {
      const answer = await askRaw(
        fixture.port,
        `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      )
      expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
      expect(answer).not.toContain(secret)
    },
  )

  test('a refusal names no file of this machine', async () => {
    const { body } = await ask(fixture.port, { path: '/none.js' })
    expect(body).not.toContain(fixture.directory)
    expect(JSON.parse(body)).toEqual({ message: 'There is nothing at this address.', hint: null })
  })
})
