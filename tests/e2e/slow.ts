/**
 * Slowness on demand, to find what only goes well while nobody has to wait: a journey must pass however late frames,
 * requests or answers are and however slow the processor is. `TURNWISE_SLOW=frames,answers npx playwright test`; of
 * requests and answers one at a time.
 */
import type { Page } from '@playwright/test'

const frameMs = 400
const messageMs = 1500
const processorShare = 5

/** Hands messages on late, and not always equally late; their order stays. */
function late(send: (message: string | Buffer) => void): (message: string | Buffer) => void {
  let before: Promise<unknown> = Promise.resolve()
  let count = 0
  return (message) => {
    const due = Date.now() + (messageMs * ((count++ * 7) % 10)) / 10
    before = before.then(async () => {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - Date.now())))
      send(message)
    })
  }
}

const kinds: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  /** The picture that a callback waits for is made later. */
  frames: (page) =>
    page.addInitScript((ms) => {
      const soon = window.requestAnimationFrame.bind(window)
      window.requestAnimationFrame = (callback) =>
        soon(() => setTimeout(() => callback(performance.now()), ms))
    }, frameMs),

  /** What the page says reaches the host later: what it shows before the answer may not be so yet. */
  requests: (page) =>
    page.routeWebSocket(/.*/, (socket) => {
      const server = socket.connectToServer()
      socket.onMessage(late((message) => server.send(message)))
    }),

  /** What the host says reaches the page later. */
  answers: (page) =>
    page.routeWebSocket(/.*/, (socket) => {
      socket.connectToServer().onMessage(late((message) => socket.send(message)))
    }),

  /** The page has a fifth of a core. */
  async processor(page) {
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: processorShare })
  },
}

export async function slowDown(page: Page, names = process.env['TURNWISE_SLOW'] ?? ''): Promise<void> {
  for (const name of names.split(',').filter(Boolean)) {
    const slow = kinds[name]
    if (!slow) throw new Error(`TURNWISE_SLOW knows ${Object.keys(kinds).join(', ')}; not “${name}”.`)
    await slow(page)
  }
}
