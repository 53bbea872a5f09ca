export interface Stopwatch {
  /** Seconds since the last lap. */
  lap(): number
  /** Seconds since the start. */
  total(): number
}

export function stopwatch(): Stopwatch {
  const start = performance.now()
  let last = start
  return {
    lap() {
      const before = last
      last = performance.now()
      return (last - before) / 1000
    },
    total: () => (performance.now() - start) / 1000,
  }
}
