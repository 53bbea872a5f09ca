/** Which prompts come next: pass after pass over all of them, each pass in its own seeded order. */
import { randomStream, SequentialRandom } from '#shared/random.ts'

/** Keeps the order's random numbers apart from those of trajectories. */
const ORDER_PURPOSE = 0x0de5

export interface PromptOrder {
  readonly seed: number
  readonly shuffle: boolean
}

/** The `count` items that follow the first `drawn`; a draw may cross from one pass into the next. */
export function drawNext<T>(items: readonly T[], drawn: number, count: number, order: PromptOrder): T[] {
  let pass = -1
  let current: readonly T[] = []
  return Array.from({ length: count }, (_, i) => {
    const position = drawn + i
    if (Math.floor(position / items.length) !== pass) {
      pass = Math.floor(position / items.length)
      current = passOrder(items, pass, order)
    }
    return current[position % items.length]!
  })
}

function passOrder<T>(items: readonly T[], pass: number, { seed, shuffle }: PromptOrder): readonly T[] {
  return shuffle ? new SequentialRandom(randomStream(seed, ORDER_PURPOSE, pass)).shuffled(items) : items
}
