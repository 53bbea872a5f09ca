import { spawn } from 'node:child_process'
import { afterAll, expect, test } from 'vitest'
import {
  allProcesses,
  familyMeter,
  type Meter,
  processMeter,
  readPs,
  readWindowsTimes,
  sumOf,
} from '#host/processes/processorTime.ts'
import { eventually } from '../../eventually.ts'

/** Works until whoever started it is gone, so that no loop outlives the test. */
const endless = 'const parent = process.ppid; while (process.ppid === parent);'

const children: ReturnType<typeof spawn>[] = []
const started = (code: string) => {
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  return () => child.pid ?? null
}
afterAll(() => children.forEach((child) => child.kill('SIGKILL')))

test('a process that works uses time, one that waits uses none, and a family has that of its children', async () => {
  const timeOf = (meter: Meter) => async () => (await meter()).usedMs
  const working = timeOf(processMeter(started(endless)))
  const before = await working()
  await eventually(async () => expect((await working()) - before).toBeGreaterThan(100))
  const parent = started(
    `require('node:child_process').spawn(process.execPath, ['-e', '${endless}']); setTimeout(() => {}, 600_000)`,
  )
  const [alone, family] = [timeOf(processMeter(parent)), timeOf(familyMeter(parent))]
  await eventually(async () => expect((await family()) - (await alone())).toBeGreaterThan(200))
  const sum = await alone()
  const all = await family()
  await eventually(async () => expect((await family()) - all).toBeGreaterThan(200))
  // Its start may not have been over; a wait costs nothing.
  expect((await alone()) - sum).toBeLessThan(200)
})

test('where the system does not tell, time goes on', async () => {
  const unknown = processMeter(() => null)
  const before = await unknown()
  await eventually(async () => expect((await unknown()).usedMs).toBeGreaterThan(before.usedMs))
})

test.runIf(process.platform === 'linux')(
  'a process that works or could is ready, one that waits is not',
  async () => {
    const [working, waiting] = [
      processMeter(started(endless)),
      processMeter(started('setTimeout(() => {}, 600_000)')),
    ]
    await eventually(async () => {
      const all = await Promise.all([working(), waiting()])
      expect(all.map(({ isReady }) => isReady)).toEqual([true, false])
    })
  },
)

test.runIf(process.platform === 'linux')('ps and the files of Linux say the same', async () => {
  const mine = (all: Awaited<ReturnType<typeof allProcesses>>) => all.find(({ pid }) => pid === process.pid)
  const [files, ps] = [mine(await allProcesses('linux')), mine(await allProcesses('darwin'))]
  expect(ps).toMatchObject({ parent: process.ppid, group: files!.group })
  expect(files).toMatchObject({ parent: process.ppid })
  // ps counts whole seconds on Linux, and this process goes on.
  expect(Math.abs(ps!.usedMs - files!.usedMs)).toBeLessThan(5_000)
})

test('the lists of other systems are read', () => {
  const rows = readPs(
    '    1     0     1   0:02.50\n  501   1 501 01:02:03\n 7 501 501 2-00:00:01\nnonsense\n',
  )
  expect(rows.map(({ pid, parent, usedMs }) => [pid, parent, usedMs])).toEqual([
    [1, 0, 2_500],
    [501, 1, 3_723_000],
    [7, 501, 172_801_000],
  ])
  expect(readWindowsTimes('4 0 156250\r\n88 4 20000000\r\n\r\nError: x\r\n')).toEqual([
    { pid: 4, parent: 0, group: 0, usedMs: 15.625, isReady: false },
    { pid: 88, parent: 4, group: 0, usedMs: 2_000, isReady: false },
  ])
})

test('a family is a group and all descendants, also those in groups of their own', () => {
  const row = (pid: number, parent: number, group: number) => ({
    pid,
    parent,
    group,
    usedMs: pid,
    isReady: pid === 30,
  })
  const all = [row(30, 20, 30), row(10, 1, 10), row(20, 10, 10), row(40, 1, 10), row(50, 1, 50)]
  expect(sumOf(all, 10, true)).toEqual({ usedMs: 100, isReady: true })
  expect(sumOf(all, 10, false)).toEqual({ usedMs: 10, isReady: false })
  expect(() => sumOf(all, 60, true)).toThrow('Expected a living process')
})
