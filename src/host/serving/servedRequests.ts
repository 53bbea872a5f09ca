/** A model kept open in its process, and the requests that it answers until its host ends it. */
import type { Tools } from '#host/processes/job.ts'
import { packError } from '#host/processes/messages.ts'
import { ServedBase } from './servedBase.ts'
import type { ServedRequest, ServingNews, ServingOrder, ServingSetup } from './servedProcess.ts'

/** Serves the model; never resolves. Errors: those of opening the model. */
export async function serveModel(
  setup: ServingSetup,
  { say, onOrder }: Tools<ServingNews, ServingOrder>,
): Promise<void> {
  const base = await ServedBase.open(setup)
  const active = new Map<number, AbortController>()
  const complete = async (id: number, request: ServedRequest): Promise<void> => {
    const controller = new AbortController()
    active.set(id, controller)
    try {
      await base.complete(request, controller.signal, (news) => void say({ type: 'news', id, news }))
      await say({ type: 'completed', id })
    } catch (error) {
      await say({ type: 'refused', id, error: packError(error) })
    } finally {
      active.delete(id)
    }
  }
  onOrder((order) => {
    if (order.type === 'complete') void complete(order.id, order.request)
    else active.get(order.id)?.abort()
  })
  await say({ type: 'ready', contextLength: base.contextLength })
  await new Promise<never>(() => undefined)
}
