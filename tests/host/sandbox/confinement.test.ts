import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { forkConfined } from '#host/sandbox/sandboxLink.ts'
import { openSandbox } from '#host/sandbox/sandbox.ts'
import { only, sample } from './opened.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-confined-'))
const secret = path.join(folder, 'secret.txt')
const target = path.join(folder, 'written.txt')
writeFileSync(secret, 'secret')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function attempts(isConfined: boolean): Promise<unknown> {
  const script = path.join(import.meta.dirname, 'confinedProcess.ts')
  const child = forkConfined(script, isConfined, [secret, target])
  const [results] = (await once(child, 'message')) as [unknown]
  return results
}

test('in the process of the sandbox, files, programs and threads are refused', async () => {
  expect(await attempts(true)).toEqual({
    'reads a file': 'ERR_ACCESS_DENIED',
    'writes a file': 'ERR_ACCESS_DENIED',
    'starts a program': 'ERR_ACCESS_DENIED',
    'starts a thread': 'ERR_ACCESS_DENIED',
    'takes the types off code': 'done',
  })
  expect(existsSync(target)).toBe(false)
})

const childrenOf = (pid: number): string[] =>
  readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      return new RegExp(`^PPid:\\s${pid}$`, 'm').test(readFileSync(`/proc/${name}/status`, 'utf8'))
    } catch {
      return false
    }
  })

/** Command line and limits of the children that are sandboxes; one that another test left may be ending. */
const sandboxesOf = (pid: number) =>
  childrenOf(pid).flatMap((child) => {
    try {
      const words = readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')
      const limits = readFileSync(`/proc/${child}/limits`, 'utf8')
      return words.some((word) => word.includes('sandboxProcess')) ? [{ words, limits }] : []
    } catch {
      return []
    }
  })

test.runIf(process.platform === 'linux')('user code runs in such a process, under limits', async () => {
  await using sandbox = await openSandbox({ code: 'export default (s: object): number => 1', language: 'ts' })
  expect(only(await sandbox.score([sample], 'default'))).toMatchObject({ value: 1 })
  const own = sandboxesOf(process.pid)
  expect(own).not.toEqual([])
  for (const { words, limits } of own) {
    expect(words).toContain('--permission')
    // Its own code and the machine's, and nothing else.
    const readable = words.filter((word) => word.startsWith('--allow-')).join('\n')
    expect(readable).not.toMatch(/allow-(?!fs-read)/)
    expect(readable).not.toMatch(/node_modules$/m)
    expect(limits).toMatch(/^Max file size +0 +0 /m)
    expect(limits).toMatch(/^Max data size +2147483648 +2147483648 /m)
    expect(limits).toMatch(/^Max core file size +0 +0 /m)
  }
})

test('code of every kind runs in a process that is confined', async () => {
  const warnings: string[] = []
  const note = (warning: Error) => warnings.push(warning.message)
  process.on('warning', note)
  const codes = [
    'export default () => 1',
    'export default { reset: () => ({ state: null }), step: () => ({ terminated: true }) }',
    'export default defineLoss({ loss: ({ logp, mask }) => -mean(logp, mask) })',
    'export default defineWorkflow({ async episode() { return null } })',
    'export default (s: { completion: string }): number => s.completion.length',
  ]
  for (const code of codes) {
    await using sandbox = await openSandbox({ code, language: 'ts' })
    expect(sandbox.kind).toBeDefined()
  }
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', note)
  expect(warnings.filter((message) => message.includes('permission model'))).toEqual([])
})
