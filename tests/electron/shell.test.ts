import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { startApp, type StartedApp } from './app.ts'
import { answers, app, preventable, said, session, type MenuEntry } from './fakeElectron.ts'
import { eventually } from '../eventually.ts'

let started: StartedApp

beforeAll(async () => {
  answers.displays = [
    { id: 1, workArea: { x: 0, y: 25, width: 1280, height: 775 } },
    { id: 2, workArea: { x: 1280, y: 0, width: 2560, height: 1400 } },
  ]
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-app-'))
  mkdirSync(path.join(directory, 'window', 'Code Cache'), { recursive: true })
  writeFileSync(path.join(directory, 'window', 'Local State'), '{}')
  started = await startApp(directory)
})

/** What the session's handler of that name answers through its callback. */
function decision(name: string, ...given: unknown[]): Promise<unknown> {
  return new Promise((resolve) => void session.defaultSession.handlers[name]?.(...given, resolve))
}

describe('the window', () => {
  test('has a page without rights', () => {
    expect(started.window.options.webPreferences).toMatchObject({
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      webviewTag: false,
      spellcheck: false,
      preload: path.resolve('out/preload/index.cjs'),
    })
    expect(said.sandboxed).toBe(true)
    expect(session.defaultSession.spellChecks).toBe(false)
  })

  test('lies within the display and appears when there is something to see', () => {
    const { x, y, width, height, show } = started.window.options
    expect({ x, y, width, height, show }).toEqual({ x: 0, y: 25, width: 1280, height: 775, show: false })
    started.window.emit('ready-to-show')
    expect(started.window.isShown).toBe(true)
  })

  test('has a profile outside of the data directory, and that of earlier versions is gone', () => {
    const profiles = path.join(process.env['XDG_CONFIG_HOME']!, 'Turnwise Window')
    expect(path.dirname(said.paths.get('userData')!)).toBe(profiles)
    expect(existsSync(path.join(started.directory, 'window'))).toBe(false)
  })

  test('comes back after its page has crashed', async () => {
    answers.buttons = [0]
    const reloaded = new Promise((resolve) => started.window.webContents.once('fake:reload', resolve))
    started.window.webContents.emit('render-process-gone', {}, { reason: 'oom' })
    await reloaded
    expect(said.questions.at(-1)?.message).toBe('The window stopped working')
  })
})

describe('the page', () => {
  const get = (url: string, method = 'GET') =>
    session.defaultSession.handlers['scheme:turnwise']?.(new Request(url, { method })) as Promise<Response>

  test('comes from a scheme of its own, a secure origin that bypasses nothing', () => {
    expect(started.window.webContents.url).toBe('turnwise://app/')
    expect(said.schemes).toEqual([
      {
        scheme: 'turnwise',
        privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true },
      },
    ])
  })

  test('has the policy of the host over HTTP, with another nonce each time', async () => {
    const policies = await Promise.all(
      [1, 2].map(async () => (await get('turnwise://app/')).headers.get('content-security-policy') ?? ''),
    )
    expect(policies[0]).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[^']+'; /)
    expect(policies[0]).toContain("connect-src 'self'; ")
    expect(policies[0]).not.toContain('unsafe')
    expect(policies[0]).not.toBe(policies[1])
    expect((await get('turnwise://app/')).headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('is no door to other files, hosts or methods', async () => {
    const refused = [
      'turnwise://app/../package.json',
      'turnwise://app/%2e%2e/package.json',
      'turnwise://other/',
    ]
    for (const url of refused) expect((await get(url)).status, url).toBe(404)
    expect((await get('turnwise://app/', 'POST')).status).toBe(405)
    expect((await get('turnwise://app/missing.js')).headers.get('content-security-policy')).toContain(
      "'none'",
    )
  })
})

describe('permissions and requests', () => {
  test('of all permissions only the clipboard can be written, and by our page', async () => {
    const contents = started.window.webContents
    for (const permission of [
      'media',
      'geolocation',
      'notifications',
      'clipboard-read',
      'openExternal',
      'hid',
    ]) {
      expect(await decision('permissionRequest', contents, permission), permission).toBe(false)
      expect(
        session.defaultSession.handlers['permissionCheck']?.(contents, permission, 'turnwise://app/'),
      ).toBe(false)
    }
    expect(await decision('permissionRequest', contents, 'clipboard-sanitized-write')).toBe(true)
    const check = session.defaultSession.handlers['permissionCheck']
    expect(check?.(contents, 'clipboard-sanitized-write', 'turnwise://app/')).toBe(true)
    expect(check?.(contents, 'clipboard-sanitized-write', 'https://example.org/')).toBe(false)
    expect(session.defaultSession.handlers['device']?.()).toBe(false)
    expect(await decision('displayMedia', {})).toBe(null)
  })

  test('nothing leaves the window, and what wanted to is counted', async () => {
    const client = started.connect()
    const cancelled = async (url: string) =>
      ((await decision('request', { url })) as { cancel: boolean }).cancel
    for (const url of [
      'turnwise://app/assets/index.js',
      'data:,',
      'blob:turnwise://app/1',
      'devtools://devtools/x',
    ])
      expect(await cancelled(url), url).toBe(false)
    const foreign = [
      'https://example.org/',
      'http://127.0.0.1:80/',
      'file:///etc/passwd',
      'wss://example.org',
      'turnwise://application/',
      'blob:https://example.org/1',
    ]
    for (const url of foreign) expect(await cancelled(url), url).toBe(true)
    await eventually(async () =>
      expect(await client.call('settings.get', { key: 'network.blockedRequests' })).toBe(foreign.length),
    )
    client.close()
  })

  test('Chromium asks nobody either', () => {
    expect(said.switches.get('host-resolver-rules')).toBe('MAP * ~NOTFOUND')
    expect([...said.switches.keys()]).toEqual(
      expect.arrayContaining(['disable-background-networking', 'disable-component-update', 'no-pings']),
    )
  })
})

describe('navigation', () => {
  const contents = () => started.window.webContents
  const navigate = (name: string, url: string, isMainFrame = true) => {
    const event = preventable({ url, isMainFrame })
    contents().emit(name, event)
    return event.isPrevented
  }

  test('no other page, no window, no view inside', () => {
    for (const url of [
      'https://example.org/',
      'file:///etc/passwd',
      'turnwise://app/other.html',
      'turnwise://x/',
    ])
      expect(navigate('will-navigate', url), url).toBe(true)
    expect(navigate('will-navigate', 'turnwise://app/#/runs')).toBe(false)
    expect(navigate('will-frame-navigate', 'turnwise://app/', false)).toBe(true)
    expect(navigate('will-frame-navigate', 'https://example.org/')).toBe(true)
    expect(navigate('will-redirect', 'turnwise://app/')).toBe(true)
    expect(navigate('will-attach-webview', '')).toBe(true)
    expect(contents().openHandler({ url: 'turnwise://app/' })).toEqual({ action: 'deny' })
  })

  test('a link to the web opens in the browser, after a question', async () => {
    said.opened.length = 0
    await eventually(() => {
      answers.buttons = [1]
      expect(contents().openHandler({ url: 'https://example.org/no' })).toEqual({ action: 'deny' })
      expect(said.questions.at(-1)).toMatchObject({
        detail: 'https://example.org/no',
        buttons: ['Open', 'Cancel'],
      })
    })
    await eventually(() => {
      answers.buttons = [0]
      contents().openHandler({ url: 'https://example.org/yes' })
      expect(said.opened).toContain('https://example.org/yes')
    })
    const asked = said.questions.length
    for (const url of [
      'http://example.org/',
      'file:///x',
      'javascript:alert(1)',
      'https://me:word@example.org/',
    ])
      contents().openHandler({ url })
    expect(said.questions).toHaveLength(asked)
    expect(said.opened).not.toContain('https://example.org/no')
  })
})

describe('menu and files', () => {
  /** Presses an entry by its words. */
  function press(...words: readonly string[]): void {
    let entries = said.appMenu as readonly MenuEntry[]
    for (const word of words) {
      const entry = entries.find(({ label, role }) => label === word || role === word)
      if (entry === undefined)
        throw new Error(`No ${word} among ${entries.map(({ label }) => label).join()}.`)
      if (entry.submenu === undefined) entry.click?.()
      entries = entry.submenu ?? []
    }
  }

  test('has the usual roles, and tells the page what was chosen', () => {
    const client = started.connect()
    const roles = (said.appMenu as readonly MenuEntry[]).map(({ role, label }) => role ?? label)
    expect(roles).toEqual(expect.arrayContaining(['&File', 'editMenu', '&View', '&Go', 'windowMenu', 'help']))
    press('&File', 'New run')
    press('&File', 'Add data…')
    press('&Go', 'Rewards')
    press('help', 'Keyboard shortcuts')
    expect(started.told().slice(-4)).toEqual([
      { type: 'new-run' },
      { type: 'add-data' },
      { type: 'go', route: '/rewards' },
      { type: 'show-keys' },
    ])
    press('help', 'Show data folder')
    expect(said.opened.at(-1)).toBe(started.directory)
    client.close()
  })

  test('a second start brings the window to the front and hands its files over', () => {
    started.window.hide()
    app.emit('second-instance', {}, [], '', { files: ['/data/train.csv', 7] })
    expect(started.window.isShown).toBe(true)
    expect(started.told().at(-1)).toEqual({ type: 'open-file', path: '/data/train.csv' })
    const count = started.told().length
    app.emit('second-instance', {}, [], '', null)
    expect(started.told()).toHaveLength(count)
  })

  test('what happens while the page loads waits for it', () => {
    const event = preventable()
    started.window.webContents.emit('did-start-loading')
    app.emit('open-file', event, '/data/later.csv')
    expect(event.isPrevented).toBe(true)
    expect(started.told()).not.toContainEqual({ type: 'open-file', path: '/data/later.csv' })
    started.connect().close()
    expect(started.told()).toContainEqual({ type: 'open-file', path: '/data/later.csv' })
  })
})
