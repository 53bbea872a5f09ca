import { vi } from 'vitest'

/** Looks again until a check throws nothing. It waits far longer than anything should take: a busy machine is no fault. */
export const eventually = <Result>(check: () => Result | Promise<Result>): Promise<Result> =>
  vi.waitFor(check, { timeout: 500_000, interval: 20 })
