/** A process that does one job after another, each as the process of one job does (`jobProcess.ts`). */
import { writeSync } from 'node:fs'
import { openOwnFile } from '#host/files/ownFiles.ts'
import { keepPrivate } from '#host/files/permissions.ts'
import { openHostChannel } from '#host/processes/hostChannel.ts'
import type { FromJob, Perform, ToJob } from '#host/processes/job.ts'
import { packError } from '#host/processes/messages.ts'
import { performers } from '#host/jobs/process/performers.ts'
import type { Beginning } from './warmJobs.ts'
import '../../keptSandboxes.ts'
import '../../keptSessions.ts'

keepPrivate()
process.on('SIGINT', () => {})
const host = openHostChannel<Beginning | ToJob<unknown, unknown>, FromJob<unknown>>()

/** What the job that is being done hears. */
interface Doing {
  readonly start: (input: unknown) => void
  order: (order: unknown) => void
  lost: () => void
}
const exit = () => process.exit()
let doing: Doing | null = null
let isLost = false

host.onLost(() => {
  isLost = true
  if (doing === null) exit()
  else doing.lost()
})
host.listen((message) => {
  if (message.type === 'begin') doing = begin(message)
  else if (message.type === 'start') doing?.start(message.input)
  else doing?.order(message.order)
})

/** Where the process of one job has its output from the start. */
function writeTo(logFile: string | undefined): void {
  if (logFile === undefined) return
  const file = openOwnFile(logFile)
  for (const stream of [process.stdout, process.stderr])
    stream.write = (text: string | Uint8Array) => writeSync(file, String(text)) >= 0
}

function begin({ name, logFile }: Beginning): Doing {
  writeTo(logFile)
  process.removeAllListeners('SIGTERM')
  const loading = performers[name as keyof typeof performers]() as Promise<unknown>
  const early: unknown[] = []
  const own: Doing = {
    start: (input) => void serve(loading as Promise<Perform<unknown, unknown, unknown>>, input, own, early),
    order: (order) => void early.push(order),
    lost: exit,
  }
  return own
}

async function serve(
  loading: Promise<Perform<unknown, unknown, unknown>>,
  input: unknown,
  own: Doing,
  early: readonly unknown[],
): Promise<void> {
  let last: FromJob<unknown>
  try {
    await (
      await loading
    )(input, {
      // What it has in mind to say is lost with a process that ends, so also here.
      say: async (item) => (doing === own ? host.report({ type: 'item', item }) : undefined),
      onOrder(handler) {
        own.order = handler
        early.forEach(handler)
      },
      onLost: (handler) => (own.lost = handler),
    })
    last = { type: 'done' }
  } catch (error) {
    last = { type: 'failed', error: packError(error) }
  }
  doing = null
  await host.report(last)
  if (isLost) exit()
}
