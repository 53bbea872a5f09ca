/** API procedures for the server that other programs use. */
import type { Handlers } from '#shared/api/contract.ts'
import type { servingApi } from '#shared/api/serving.ts'
import { newsOf, stampOf } from '#host/store/feeds.ts'
import type { Host } from '#host/host.ts'

export const servingService = ({ serving, notifier }: Host): Handlers<typeof servingApi> => ({
  status: () => serving.status,
  start: (request) => serving.start(request),
  stop: () => serving.stop(),
  agentKey: () => ({ key: serving.agentKey }),
  renewKey: () => ({ key: serving.renewKey() }),

  async *watch(_input, { from, signal }) {
    let seen = from
    yield* newsOf({ notifier, signal }, () => {
      const { status } = serving
      const now = stampOf(status)
      if (now === seen) return null
      seen = now
      return { status, cursor: now }
    })
  },
})
