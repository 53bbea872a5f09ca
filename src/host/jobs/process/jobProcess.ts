/** The script of every process that does a job: `jobProcess.ts NAME LIFE`, started by processes/job.ts. */
import { keepPrivate } from '#host/files/permissions.ts'
import { openHostChannel, watchThisProcess } from '#host/processes/hostChannel.ts'
import type { FromJob, Job, Perform, ToJob } from '#host/processes/job.ts'
import { packError } from '#host/processes/messages.ts'
import { performers } from './performers.ts'

/** Loads the code of a job. The types of its input are checked where the job is requested (processes/job.ts). */
const load = (code: () => Promise<unknown>) => code() as Promise<Perform<unknown, unknown, unknown>>

const [name = '', life = '{}'] = process.argv.slice(2)
const { outlivesHost = false, maxBytes } = JSON.parse(life) as Partial<Job<string, unknown, unknown>>

keepPrivate()
if (!outlivesHost) watchThisProcess({ maxBytes })
const host = openHostChannel<ToJob<unknown, unknown>, FromJob<unknown>>()

// A Ctrl-C reaches every process of the terminal; whoever asked says when it is enough.
process.on('SIGINT', () => {})
let onLost = () => process.exit()
host.onLost(() => onLost())

const early: unknown[] = []
let handle: (order: unknown) => void = (order) => early.push(order)
// The job's code is loaded while the host is still sending.
const loading =
  name in performers ? load(performers[name as keyof typeof performers]) : Promise.resolve(undefined)
host.listen((message) => (message.type === 'start' ? void serve(message.input) : handle(message.order)))

async function serve(input: unknown): Promise<void> {
  try {
    const perform = await loading
    if (perform === undefined) throw new Error(`There is no job “${name}”.`)
    await perform(input, {
      say: (item) => host.report({ type: 'item', item }),
      onOrder(handler) {
        handle = handler
        for (const order of early.splice(0)) handler(order)
      },
      onLost: (handler) => (onLost = handler as () => never),
    })
    await host.report({ type: 'done' })
  } catch (error) {
    await host.report({ type: 'failed', error: packError(error) })
  }
  process.exit()
}
