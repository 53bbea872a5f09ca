/** Takes a growing log into a history until told to end, then says how many events it was that recorded. */
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openStore } from '#host/store/store.ts'
import { newRun } from './logs.ts'

const [file = '', runId = '', log = ''] = process.argv.slice(2)
const over = new AbortController()
process.once('message', () => over.abort())
{
  using store = openStore(file)
  newRun(store, dirname(log), runId)
  process.send?.('open')
  let recorded = 0
  while (!over.signal.aborted) {
    recorded += store.ingest(runId, log).length
    await setTimeout(1)
  }
  recorded += store.ingest(runId, log).length
  process.send?.(recorded)
}
process.disconnect()
