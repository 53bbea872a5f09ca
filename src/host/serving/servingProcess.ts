/** The script of a process that keeps a model open and answers requests to it. Started by serving.ts. */
import { keepPrivate } from '#host/files/permissions.ts'
import { ServedBase } from './servedBase.ts'
import { openHostChannel, watchThisProcess } from '#host/processes/hostChannel.ts'
import { packError } from '#host/processes/messages.ts'
import type { FromServing, ServedRequest, ServingSetup, ToServing } from './servedProcess.ts'

keepPrivate()
watchThisProcess()
const host = openHostChannel<ToServing, FromServing>()

// A Ctrl-C reaches every process of the terminal; whoever asked says when it is enough.
process.on('SIGINT', () => {})
host.onLost(() => process.exit())

let base: ServedBase | null = null
/** Requests that are being answered. */
const active = new Map<number, AbortController>()

host.listen((message) => {
  if (message.type === 'open') void open(message.setup)
  else if (message.type === 'complete') void complete(message.id, message.request)
  else active.get(message.id)?.abort()
})

async function open(setup: ServingSetup): Promise<void> {
  try {
    base = await ServedBase.open(setup)
    await host.report({ type: 'ready', contextLength: base.contextLength })
  } catch (error) {
    await host.report({ type: 'failed', error: packError(error) })
    process.exit()
  }
}

async function complete(id: number, request: ServedRequest): Promise<void> {
  const controller = new AbortController()
  active.set(id, controller)
  try {
    if (base === null) throw new Error('Expected an open model.')
    await base.complete(request, controller.signal, (news) => void host.report({ type: 'news', id, news }))
    await host.report({ type: 'completed', id })
  } catch (error) {
    await host.report({ type: 'refused', id, error: packError(error) })
  } finally {
    active.delete(id)
  }
}
