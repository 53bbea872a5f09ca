import { describe, expect, test } from 'vitest'
import { createCursor } from '#renderer/charts/cursor.ts'
import { lastValues, seriesLine, withBand } from '#renderer/charts/lines.ts'
import { pointAt, type ChartLine } from '#renderer/charts/points.ts'
import { placeText, readingOf, stepAt, walk } from '#renderer/charts/reading.ts'
import { pointBudget } from '#renderer/charts/reduction.ts'
import { sceneOf, type SceneOptions } from '#renderer/charts/scene.ts'
import { legendRows, sceneSvg } from '#renderer/charts/sceneSvg.ts'

const lineOf = (id: string, values: readonly number[], more: Partial<ChartLine> = {}): ChartLine => ({
  id,
  label: id,
  color: `var(--${id})`,
  points: values.map((y, i) => pointAt(i, i, y)),
  ...more,
})
const options: SceneOptions = { xAxis: 'step', smoothing: 0, scale: 'linear', zoom: null }
const wave = (count: number) => Array.from({ length: count }, (_, i) => Math.sin(i / 9))
const dotsOf = (scene: ReturnType<typeof sceneOf>) =>
  scene!.lines.flatMap(({ main, raw }) => [...main, ...raw].flat()).length

describe('a scene', () => {
  test('is nothing without points', () => {
    expect(sceneOf([lineOf('a', [])], options)).toBeNull()
  })

  test('stays within what can be drawn quickly', () => {
    const lines = Array.from({ length: 12 }, (_, i) => lineOf(`r${i}`, wave(5000)))
    expect(dotsOf(sceneOf(lines, options))).toBeLessThanOrEqual(pointBudget * 1.01)
    expect(dotsOf(sceneOf(lines, { ...options, smoothing: 0.8 }))).toBeLessThanOrEqual(pointBudget * 1.01)
  })

  test('smoothing keeps the values behind it', () => {
    const { lines } = sceneOf([lineOf('a', wave(50))], { ...options, smoothing: 0.5 })!
    expect(lines[0]!.raw[0]).toHaveLength(50)
    expect(lines[0]!.main[0]).toHaveLength(50)
    expect(sceneOf([lineOf('a', wave(50))], options)!.lines[0]!.raw).toEqual([])
  })

  test('short lines are not smoothed by themselves, long ones are', () => {
    expect(sceneOf([lineOf('a', wave(150))], { ...options, smoothing: 'auto' })!.smoothing).toBe(0)
    expect(sceneOf([lineOf('a', wave(250))], { ...options, smoothing: 'auto' })!.smoothing).toBe(0.6)
  })

  test('gaps cut lines; a value alone is a dot', () => {
    const line = lineOf('a', [1, 2, 3, 4, 5, 6], { gaps: [1.5, 4.5] })
    const [shown] = sceneOf([line], options)!.lines
    expect(shown!.main.map((dots) => dots.length)).toEqual([2, 3])
    expect(shown!.lone).toEqual([{ x: 5, y: 6 }])
  })

  test('zoom shows its range and measures only what is in it', () => {
    const scene = sceneOf([lineOf('a', [0, 1, 2, 100, 4, 5, 6])], { ...options, zoom: [4.5, 6] })!
    expect(scene.x.domain).toEqual([4.5, 6])
    expect(scene.y.domain[1]).toBeLessThan(10)
  })

  test('zeros on a logarithm are marked', () => {
    const scene = sceneOf([lineOf('a', [0, 1, 10])], { ...options, scale: 'log' })!
    expect(scene.lines[0]!.clampedAt).toEqual([0])
    expect(scene.lines[0]!.main[0]![0]!.y).toBe(scene.y.domain[0])
  })

  test('a spike may leave the panel, but no value that is usual', () => {
    const values = [...wave(100), 1000, ...wave(100)]
    const [all, clipped] = [false, true].map((clipsSpikes) =>
      sceneOf([lineOf('a', values)], { ...options, clipsSpikes })!,
    )
    expect(all!.y.domain[1]).toBeGreaterThan(1000)
    expect(clipped!.y.domain[1]).toBeLessThan(2.2)
    expect(clipped!.y.domain[1]).toBeGreaterThanOrEqual(1)
    expect(clipped!.y.domain[0]).toBeLessThanOrEqual(-1)
  })

  test('the baseline lies on top', () => {
    const scene = sceneOf([lineOf('a', [1, 2], { isBaseline: true }), lineOf('b', [1, 2])], options)!
    expect(scene.lines.map(({ id }) => id)).toEqual(['b', 'a'])
  })
})

describe('reading a scene', () => {
  const scene = sceneOf([lineOf('a', [1, 2, 3]), lineOf('b', [9, 8, 7])], options)!

  test('values at a place, the highest first', () => {
    expect(readingOf(scene, 1.02).map(({ line, value }) => [line.id, value])).toEqual([
      ['b', 8],
      ['a', 2],
    ])
    expect(placeText(readingOf(scene, 1), scene, 1)).toBe('step 1')
  })

  test('keys move from point to point', () => {
    expect(walk(scene, 1, 'ArrowRight', false)).toBe(2)
    expect(walk(scene, 1, 'ArrowRight', true)).toBe(2)
    expect(walk(scene, 1, 'Home', false)).toBe(0)
    expect(walk(scene, 1, 'a', false)).toBeNull()
  })

  test('a click means a step', () => {
    expect(stepAt(scene, 1.4)).toBe(1)
  })
})

describe('a scene as SVG', () => {
  test('stands alone: no variables, no scripts, escaped names', () => {
    const scene = sceneOf(
      [
        lineOf('a', wave(20), {
          label: '<b> & co',
          band: [
            { x: 0, low: 0, high: 1 },
            { x: 5, low: 0, high: 1 },
          ],
        }),
      ],
      { ...options, events: [{ id: 'e', x: 3, kind: 'resume', label: 'resumed "here"' }] },
    )!
    const svg = sceneSvg(scene, { title: 'reward', width: 400, height: 200, resolve: () => '#123456' })
    expect(svg).toMatch(/^<svg /)
    expect(svg).not.toMatch(/var\(|<script|<b>/)
    expect(svg).toContain('&lt;b&gt; &amp; co')
    expect(svg).toContain('resumed &quot;here&quot;')
    expect(svg).not.toContain('NaN')
  })

  test('names take as many rows as they need', () => {
    const scene = sceneOf(
      Array.from({ length: 9 }, (_, i) => lineOf(`a long name of run ${i}`, [1, 2])),
      options,
    )!
    expect(legendRows(scene, 400).length).toBe(5)
    expect(legendRows(scene, 400).flat()).toHaveLength(9)
  })
})

describe('lines', () => {
  test('a band of spread', () => {
    const points = [pointAt(1, 1, 5), pointAt(2, 2, 6)]
    const line = withBand(seriesLine({ id: 'a', label: 'a', color: 'red' }, { points, gaps: [] }), {
      points: [pointAt(2, 2, 0.5)],
      gaps: [],
    })
    expect(line.band).toEqual([{ x: 2, low: 5.5, high: 6.5 }])
  })

  test('the last values, a stretch as often as it has some', () => {
    const stretch = { ...pointAt(1, 1, 3), lastStep: 3, count: 3, mean: 2, last: 4 }
    expect(lastValues([pointAt(0, 0, 9), stretch, pointAt(4, 4, 7)], 3)).toEqual([2, 2, 7])
  })
})

test('a cursor tells once a frame, and only what changed', () => {
  let frame = () => {}
  const cursor = createCursor((callback) => (frame = callback))
  const seen: (number | null)[] = []
  cursor.subscribe(() => seen.push(cursor.get().x))
  cursor.set({ x: 1, source: 'a' })
  cursor.set({ x: 2, source: 'a' })
  expect(seen).toEqual([])
  frame()
  cursor.set({ x: 2, source: 'a' })
  frame()
  expect(seen).toEqual([2])
})

test('the next key finds the cursor where the last one put it, before any frame', () => {
  const cursor = createCursor(() => undefined)
  cursor.set({ x: 1, source: 'a' })
  expect(cursor.get().x).toBe(1)
  cursor.set({ x: (cursor.get().x ?? 0) + 1, source: 'a' })
  expect(cursor.get().x).toBe(2)
})
