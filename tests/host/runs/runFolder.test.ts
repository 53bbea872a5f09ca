import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openEventLog, openLogTail, readEvents } from '#host/workFolder/eventLog.ts'
import { createRunFolder, lockRun, openRunFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { workHolder } from '#host/workFolder/workFolder.ts'

let data: string

beforeEach(() => {
  data = mkdtempSync(path.join(tmpdir(), 'turnwise-'))
})

afterEach(() => {
  rmSync(data, { recursive: true })
})

describe('run folders', () => {
  test('are found by id, by a part of it and by path', () => {
    const run = createRunFolder(data, { seed: 3 })
    expect(run.id).toMatch(/^run_[0-9a-f]{8}-/)
    for (const name of [run.id, run.id.slice(-8), run.directory])
      expect(openRunFolder(data, name)).toEqual(run)
    expect(JSON.parse(readFileSync(runPaths(run.directory).config, 'utf8'))).toEqual({ seed: 3 })
  })

  test('no run, or several, is an error in words', () => {
    expect(() => openRunFolder(data, 'x')).toThrow('There is no run “x”.')
    createRunFolder(data, {})
    createRunFolder(data, {})
    expect(() => openRunFolder(data, 'run_')).toThrow('“run_” matches 2 runs.')
  })

  test('a damaged run.json names the file', () => {
    const run = createRunFolder(data, {})
    writeFileSync(runPaths(run.directory).run, '{"format": 2}')
    expect(() => openRunFolder(data, run.id)).toThrow(/run\.json does not describe a run/)
  })
})

describe('the lock', () => {
  test('keeps a living process out', async () => {
    const { directory } = createRunFolder(data, {})
    const other = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'])
    writeFileSync(runPaths(directory).lock, `${other.pid}\n`)
    expect(() => lockRun(directory)).toThrow(`is being trained by process ${other.pid}.`)
    const gone = new Promise((resolve) => other.once('exit', resolve))
    other.kill('SIGKILL')
    await gone
    using lock = lockRun(directory) // the holder died: its lock is void
    expect(lock).toBeDefined()
    expect(workHolder(directory)).toBe(process.pid)
  })

  test.runIf(process.platform === 'linux')('is void when its process id went to another process', () => {
    const { directory } = createRunFolder(data, {})
    writeFileSync(runPaths(directory).lock, `${process.ppid} 1\n`)
    expect(workHolder(directory)).toBeNull()
  })

  test('is released', () => {
    const { directory } = createRunFolder(data, {})
    lockRun(directory)[Symbol.dispose]()
    expect(workHolder(directory)).toBeNull()
  })
})

describe('the event log', () => {
  const typesIn = (file: string) =>
    readEvents(file).map((event) => `${event.type}${typeof event['step'] === 'number' ? event['step'] : ''}`)

  test('keeps events in order, with their time', () => {
    const file = path.join(data, 'events.jsonl')
    using log = openEventLog(file)
    const before = Date.now()
    log.append({ type: 'step', step: 1 })
    log.append({ type: 'step', step: 2 })
    log.flush()
    expect(typesIn(file)).toEqual(['step1', 'step2'])
    const at = readEvents(file)[0]?.at
    expect(at).toBeGreaterThanOrEqual(before)
    expect(at).toBeLessThanOrEqual(Date.now())
    expect(log.length).toBe(2)
  })

  test('drops a line that was cut short, and goes on behind it', () => {
    const file = path.join(data, 'events.jsonl')
    openEventLog(file).append({ type: 'step', step: 1 })
    appendFileSync(file, '{"at":1,"type":"st')
    expect(typesIn(file)).toEqual(['step1'])
    using log = openEventLog(file)
    log.append({ type: 'step', step: 2 })
    expect(typesIn(file)).toEqual(['step1', 'step2'])
  })

  test('a rewind leaves out steps that are done again, also after a second one', () => {
    const file = path.join(data, 'events.jsonl')
    {
      using log = openEventLog(file)
      for (const step of [1, 2, 3]) log.append({ type: 'step', step })
    }
    {
      using log = openEventLog(file)
      log.rewind(1)
      log.append({ type: 'step', step: 2 })
      expect(log.length).toBe(3)
    }
    expect(typesIn(file)).toEqual(['step1', 'resumed', 'step2'])
    using log = openEventLog(file)
    log.rewind(3)
    log.append({ type: 'step', step: 3 })
    expect(typesIn(file)).toEqual(['step1', 'resumed', 'step2', 'resumed', 'step3'])
    expect(readFileSync(file, 'utf8').split('\n').length).toBe(8) // nothing was removed
  })

  test('counts a damaged line, so that positions stay what they are', () => {
    const file = path.join(data, 'events.jsonl')
    {
      using log = openEventLog(file)
      log.append({ type: 'step', step: 1 })
      appendFileSync(file, '{"at":1,"ty\u0000\n')
    }
    using log = openEventLog(file)
    expect(log.length).toBe(2)
    log.append({ type: 'step', step: 2 })
    expect(typesIn(file)).toEqual(['step1', 'damaged-line', 'step2'])
    log.rewind(2)
    expect(typesIn(file)).toEqual(['step1', 'damaged-line', 'resumed'])
  })

  test('can be read in part: chosen types, lost steps left out', () => {
    const file = path.join(data, 'events.jsonl')
    using log = openEventLog(file)
    for (const step of [1, 2, 3]) {
      log.append({ type: 'step', step })
      log.append({ type: 'samples', step, text: '"type":"step"', long: 'x'.repeat(3_000_000) })
    }
    log.rewind(4)
    log.append({ type: 'step', step: 3 })
    const chosen = readEvents(file, ['step', 'resumed']).map(({ type, step }) => [type, step])
    expect(chosen).toEqual([
      ['step', 1],
      ['step', 2],
      ['resumed', undefined],
      ['step', 3],
    ])
    expect(readEvents(file)).toHaveLength(6)
    expect(log.length).toBe(6)
  })

  test('is followed line by whole line', () => {
    const file = path.join(data, 'events.jsonl')
    const tail = openLogTail(file, 'beginning')
    expect(tail.read()).toEqual([])
    using log = openEventLog(file)
    log.append({ type: 'step', step: 1 })
    const line = readFileSync(file, 'utf8')
    expect(tail.read()).toMatchObject([{ step: 1 }])
    appendFileSync(file, line.slice(0, 9))
    expect(tail.read()).toEqual([])
    appendFileSync(file, line.slice(9))
    expect(tail.read()).toMatchObject([{ step: 1 }])
    expect(openLogTail(file, 'end').read()).toEqual([])
  })
})
