import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { ownScript } from '#host/processes/childProcess.ts'
import { openStore } from '#host/store/store.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'
import { everythingOf, newRun, randomLines } from './logs.ts'

const folder = temporaryFolder()
let number = 0
let file = ''
beforeEach(() => {
  file = join(folder, `history-${++number}.sqlite`)
})

describe('several processes at the same log', () => {
  test('two stores in turn record each event once', () => {
    using one = openStore(file)
    using two = openStore(file)
    const runId = `run_${number}`
    const log = newRun(one, folder, runId)
    let recorded = 0
    for (const [at, line] of randomLines(9, 200).entries()) {
      appendFileSync(log, line)
      recorded += [one, two][at % 3]?.ingest(runId, log).length ?? 0
    }
    recorded += one.ingest(runId, log).length + two.ingest(runId, log).length
    expect(recorded).toBe(200)
    expect(everythingOf(one, runId)).toEqual(everythingOf(two, runId))
    using fresh = openStore(`${file}-once`)
    newRun(fresh, folder, runId)
    fresh.ingest(runId, log)
    expect(everythingOf(one, runId)).toEqual(everythingOf(fresh, runId))
  })

  test('three processes at the same time record each event once', async () => {
    const runId = `run_${number}`
    const log = join(folder, `${runId}.jsonl`)
    const lines = randomLines(11, 1500)
    const workers = [0, 1, 2].map(() =>
      fork(ownScript(join(import.meta.dirname, 'ingestingProcess.ts')), [file, runId, log]),
    )
    const answers = () =>
      Promise.all(workers.map(async (worker) => (await once(worker, 'message')) as unknown[]))
    await answers() // each has the file open, which they made at the same time
    for (let at = 0; at < lines.length; at += 10) {
      appendFileSync(log, lines.slice(at, at + 10).join(''))
      await setTimeout(4)
    }
    const counts = answers()
    for (const worker of workers) worker.send('end')
    const recorded = (await counts).map(([count]) => count as number)
    expect(recorded.reduce((a, b) => a + b)).toBe(lines.length)
    using store = openStore(file)
    using fresh = openStore(`${file}-once`)
    newRun(fresh, folder, runId)
    fresh.ingest(runId, log)
    expect(everythingOf(store, runId)).toEqual(everythingOf(fresh, runId))
  })

  test.runIf(isWhole)(
    wholeTitle('processes killed while they record leave nothing half done and nothing to be done twice'),
    async () => {
      const runId = `run_${number}`
      const log = join(folder, `${runId}.jsonl`)
      const lines = randomLines(13, 3000)
      writeFileSync(log, '')
      const random = new SequentialRandom(randomStream(17))
      let at = 0
      for (let kill = 0; kill < 8; kill++) {
        const worker = fork(ownScript(join(import.meta.dirname, 'ingestingProcess.ts')), [file, runId, log])
        await once(worker, 'message')
        const pieces = 3 + Math.floor(random.uniform() * 12)
        for (let piece = 0; piece < pieces; piece++, at += 25) {
          appendFileSync(log, lines.slice(at, at + 25).join(''))
          await setTimeout(random.uniform() * 6)
        }
        const gone = once(worker, 'exit')
        worker.kill('SIGKILL')
        await gone
        using store = openStore(file)
        expect(store.check()).toEqual([])
      }
      appendFileSync(log, lines.slice(at).join(''))
      using store = openStore(file)
      store.ingest(runId, log)
      using fresh = openStore(`${file}-once`)
      newRun(fresh, folder, runId)
      fresh.ingest(runId, log)
      expect(everythingOf(store, runId)).toEqual(everythingOf(fresh, runId))
    },
  )
})
