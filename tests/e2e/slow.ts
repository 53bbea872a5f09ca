/**
 * Slowness on demand, to find what only goes well while nobody has to wait: a journey must pass however late frames,
 * answers or the processor are. `TURNWISE_SLOW=frames,answers,processor npx playwright test`, any of the three.
 */
import type { Page } from '@playwright/test'

const frameMs = 400
const answerMs = 600
const processorShare = 5

const kinds: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  /** The picture that a callback waits for is made later. */
  frames: (page) =>
    page.addInitScript((ms) => {
      const soon = window.requestAnimationFrame.bind(window)
      window.requestAnimationFrame = (callback) =>
        soon(() => setTimeout(() => callback(performance.now()), ms))
    }, frameMs),

  /** What the host says takes its time, and not always the same; its order stays. */
  answers: (page) =>
    page.routeWebSocket(/.*/, (socket) => {
      const server = socket.connectToServer()
      let before: Promise<unknown> = Promise.resolve()
      let count = 0
      server.onMessage((message) => {
        const heard = Date.now() + (answerMs * ((count++ * 7) % 10)) / 10
        before = before.then(async () => {
          await new Promise((resolve) => setTimeout(resolve, Math.max(0, heard - Date.now())))
          socket.send(message)
        })
      })
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
    if (!slow) throw new Error(`TURNWISE_SLOW knows ${Object.keys(kinds).join(', ')}; not «${name}».`)
    await slow(page)
  }
}
