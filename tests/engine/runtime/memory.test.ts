import { describe, expect, test } from 'vitest'
import { kilobytes, memoryUse, watchMemory } from '#engine/runtime/memory.ts'

const MEGABYTE = 1024 * 1024
const onLinux = process.platform === 'linux'

/** Blocks the thread, as a session's run does. */
function pause(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs)
}

describe('memory of this process', () => {
  test('sees an allocation', () => {
    const before = memoryUse()
    const held = Buffer.alloc(64 * MEGABYTE, 1)
    const after = memoryUse()
    expect(after.anonymousBytes - before.anonymousBytes).toBeGreaterThan(60 * MEGABYTE)
    expect(after.residentBytes).toBeGreaterThanOrEqual(after.anonymousBytes)
    expect(held[0]).toBe(1)
  })

  test('tells mapped files apart where the system does', () => {
    const { anonymousBytes, mappedBytes, residentBytes, proportionalBytes } = memoryUse()
    expect(mappedBytes === null).toBe(!onLinux)
    if (mappedBytes === null) return
    // Node's own binary is mapped; the two halves and shared memory make up the whole, up to per-thread counter slack.
    expect(mappedBytes).toBeGreaterThan(MEGABYTE)
    expect(Math.abs(anonymousBytes + mappedBytes - residentBytes)).toBeLessThan(MEGABYTE)
    if (proportionalBytes !== null) expect(proportionalBytes).toBeLessThan(residentBytes + 8 * MEGABYTE)
  })

  test('reads a line of a kernel report', () => {
    const report = 'Name:\tnode\nRssAnon:\t     112 kB\nRssFile:\t    1584 kB\n'
    expect(kilobytes(report, 'RssFile')).toBe(1584 * 1024)
    expect(kilobytes(report, 'Rss')).toBeNull()
  })
})

describe('watching a peak', () => {
  function watched(durationMs: number) {
    const watch = watchMemory(1)
    const before = memoryUse()
    let held: ArrayBuffer | null = new ArrayBuffer(96 * MEGABYTE)
    new Uint8Array(held).fill(1)
    pause(durationMs)
    held = structuredClone(held, { transfer: [held] }).transfer(0) // gives the memory back at once
    expect(held.byteLength).toBe(0)
    return { before, after: memoryUse(), peak: watch.stop() }
  }

  test('sees memory that came and went while this thread was blocked', () => {
    // The thread that watches may have to wait for a processor.
    let found = watched(50)
    for (const durationMs of [500, 5_000, 50_000]) if (found.peak.samples <= 10) found = watched(durationMs)
    const { before, after, peak } = found
    expect(after.anonymousBytes - before.anonymousBytes).toBeLessThan(32 * MEGABYTE)
    expect(peak.anonymousBytes - before.anonymousBytes).toBeGreaterThan(90 * MEGABYTE)
    expect(peak.samples).toBeGreaterThan(10)
  })

  test('a watch that saw nothing still knows the present', () => {
    const peak = watchMemory(10_000).stop()
    expect(peak.anonymousBytes).toBeGreaterThan(0)
    expect(peak.mappedBytes === null).toBe(!onLinux)
  })
})
