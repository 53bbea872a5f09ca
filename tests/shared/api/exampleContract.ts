/** A small contract with something of every kind, and services that let a test see what reaches them. */
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { command, feed, query, stream, type ContractHandlers } from '#shared/api/contract.ts'
import { AppError } from '#shared/errors.ts'

export const exampleContract = {
  sums: {
    add: query(z.object({ left: z.number(), right: z.number().default(10) }), z.number()),
    refuse: query(z.void(), z.void()),
    fault: query(z.void(), z.void()),
    wrong: query(z.void(), z.number()),
    huge: query(z.int().min(0), z.string()),
    forever: command(z.void(), z.void()),
    reset: command(z.void(), z.void()),
  },
  news: {
    count: stream(z.object({ upTo: z.int() }), z.object({ number: z.number() })),
    failAfter: stream(z.object({ items: z.int() }), z.number()),
    faultAfter: stream(z.object({ items: z.int() }), z.number()),
    follow: feed(z.void(), z.object({ cursor: z.string(), number: z.number() })),
  },
}

export type ExampleContract = typeof exampleContract

export interface Seen {
  /** Items asked of the `count` producer. */
  produced: number
  /** Signals of `forever` that aborted, streams whose clean-up ran. */
  aborted: number
  cleanedUp: number
  calls: number
  /** Where feeds were asked to begin. */
  readonly from: (string | null)[]
  /** The feed goes up to here. */
  newest: number
}

export function exampleServices(): {
  readonly seen: Seen
  readonly handlers: ContractHandlers<ExampleContract>
} {
  const seen: Seen = { produced: 0, aborted: 0, cleanedUp: 0, calls: 0, from: [], newest: 0 }
  return { seen, handlers: { sums: sums(seen), news: news(seen) } }
}

const sums = (seen: Seen): ContractHandlers<ExampleContract>['sums'] => ({
  add: ({ left, right }) => {
    seen.calls++
    return left + right
  },
  refuse: () => {
    throw new AppError('run/busy', 'The run is busy.', 'Stop it first.')
  },
  fault: () => Promise.reject(new TypeError('secret at /home/someone/private.ts')),
  wrong: () => 'text' as unknown as number,
  huge: (length) => {
    seen.calls++
    return 'x'.repeat(length)
  },
  forever: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        seen.aborted++
        reject(new Error('aborted'))
      })
    }),
  reset: () => {
    seen.calls = 0
  },
})

const news = (seen: Seen): ContractHandlers<ExampleContract>['news'] => ({
  async *count({ upTo }) {
    try {
      for (let number = 1; number <= upTo; number++) {
        seen.produced = number
        yield { number }
      }
    } finally {
      seen.cleanedUp++
    }
  },
  async *failAfter({ items }) {
    for (let number = 1; number <= items; number++) yield number
    throw new AppError('data/invalid', 'The rest is unreadable.')
  },
  async *faultAfter({ items }) {
    for (let number = 1; number <= items; number++) yield number
    throw new RangeError('secret')
  },
  async *follow(_input, { signal, from }) {
    seen.from.push(from)
    try {
      for (let number = Number(from ?? 0) + 1; !signal.aborted;) {
        if (number <= seen.newest) yield { cursor: `${number}`, number: number++ }
        else await delay(2)
      }
    } finally {
      seen.cleanedUp++
    }
  },
})
