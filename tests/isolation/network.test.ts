import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../host/files/temporaryFolder.ts'
import { starterConfig } from '../host/runs/runFixture.ts'
import { dataDirectory, isolated, noTrace, traces, whyNotIsolated } from './isolated.ts'
import { eachOf, isWhole, wholeTitle } from '../sweeps.ts'

const root = path.resolve(import.meta.dirname, '../..')
const folder = temporaryFolder()
const resource = (name: string) => path.join(root, 'resources', name)
const turnwise = [process.execPath, path.join(root, 'bin/turnwise.mjs')]
const reason = whyNotIsolated()
const where = reason === null ? '' : ` (cannot be isolated here: ${reason})`

describe.skipIf(reason !== null)(`in a network of its own${where}`, () => {
  const planted = (code: string) => traces(isolated([process.execPath, '-e', code]))

  test('a look-up, a packet to an address and a file are seen', () => {
    expect(planted('require("dns").lookup("planted.example", () => {})').lookups).toEqual(['planted.example'])
    for (const address of ['203.0.113.5', '2001:db8::5']) {
      const connect = `require("net").connect(443, "${address}").on("error", () => {})`
      expect(planted(`${connect}; setTimeout(() => process.exit(), 800)`).packets, address).toBeGreaterThan(0)
    }
    const files = ['/root/.planted', '/tmp/planted', '/dev/shm/planted', path.join(root, 'planted')]
    const write = `for (const f of ${JSON.stringify(files)}) require("fs").writeFileSync(f, "")`
    expect(planted(write)).toEqual({ ...noTrace, files: [...files].sort() })
    expect(planted('0')).toEqual(noTrace)
  })

  test('what the host shows of its connections is what the system’s table holds', () => {
    const { output } = isolated([process.execPath, path.join(import.meta.dirname, 'connecting.ts')])
    expect(JSON.parse(output)).toEqual({
      count: 4,
      found: [
        'child tcp 203.0.113.2 8443',
        'own tcp 2001:db8::1 443',
        'own tcp 203.0.113.1 443',
        'own udp 203.0.113.3 53',
      ],
    })
  })

  test('a connection is counted once, though the table changes while it is read', () => {
    const { output } = isolated([process.execPath, path.join(import.meta.dirname, 'churning.ts')])
    const { count, distinct } = JSON.parse(output) as { count: number; distinct: number }
    expect(count).toBe(distinct)
  })

  test('a run leaves nothing but what is in the data directory and the key of the seals', () => {
    const config = path.join(folder, 'run.json')
    writeFileSync(config, JSON.stringify({ ...starterConfig, steps: 2 }))
    const seen = isolated([...turnwise, 'train', config, '--data-dir', dataDirectory])
    expect(seen.output).toContain('Finished after 2 steps')
    expect(traces(seen)).toEqual(noTrace)
  })

  const commands: readonly (readonly string[])[] = [
    ['generate', '--model', resource('starter'), '--prompt', '3 + 4', '--max-tokens', '4'],
    ['bench', '--shape', 'tiny-llama', '--only', 'decode', '--batch', '1', '--steps', '1'],
    ['probe', 'constant', '--algorithm', 'grpo', '--seed', '7', '--steps', '1'],
  ]
  const isAlways = ([name]: readonly string[]) => name === 'generate'
  eachOf(test, { rows: commands, isAlways }, 'so does the command %s', (...command) => {
    const seen = isolated([...turnwise, ...command, '--data-dir', dataDirectory])
    expect(seen, seen.output).toMatchObject({ status: 0 })
    expect(traces(seen)).toEqual(noTrace)
  })

  const title = 'so does a host that looks at devices, checks itself, trains and answers'
  test.runIf(isWhole)(wholeTitle(title), () => {
    const seen = isolated([process.execPath, path.join(import.meta.dirname, 'serving.ts'), dataDirectory])
    expect(seen, seen.output).toMatchObject({ status: 0 })
    expect(traces(seen)).toEqual(noTrace)
  })
})
