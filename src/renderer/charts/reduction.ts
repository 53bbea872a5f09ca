/** Fewer points to draw: stretches as strokes that keep every spike, and shapes kept by largest triangles. */
import { together } from './live.ts'
import type { ChartPoint, Dot } from './points.ts'

/** Points × lines of a panel, at most: what a chart of SVG paths draws within a frame or two. */
export const pointBudget = 6000

/**
 * The places a line goes through to show a stretch honestly: its lowest and highest value (the one nearer to where the
 * line comes from first) and where it ends. A stretch of one value is one place.
 */
export function strokes(points: readonly ChartPoint[]): readonly Dot[] {
  const dots: Dot[] = []
  for (const { x, endX, min, max, last, count } of points) {
    const from = dots.at(-1)?.y ?? min
    if (count > 1 && max > min) {
      const middle = (x + endX) / 2
      const isMinNearer = Math.abs(min - from) <= Math.abs(max - from)
      dots.push({ x, y: isMinNearer ? min : max }, { x: middle, y: isMinNearer ? max : min })
    }
    dots.push({ x: endX, y: last })
  }
  return dots
}

/**
 * Largest-triangle-three-buckets: keeps the shape of a smooth line in `limit` points, first and last among them.
 * Steinarsson 2013, "Downsampling Time Series for Visual Representation", §4.2.
 */
export function largestTriangles(dots: readonly Dot[], limit: number): readonly Dot[] {
  const [first, end] = [dots[0], dots.at(-1)]
  if (dots.length <= limit || limit < 3 || !first || !end) return dots
  const width = (dots.length - 2) / (limit - 2)
  const kept: Dot[] = [first]
  let previous = first
  for (let bucket = 0; bucket < limit - 2; bucket++) {
    const from = 1 + Math.floor(bucket * width)
    const to = 1 + Math.floor((bucket + 1) * width)
    const next = centre(dots.slice(to, Math.min(dots.length, 1 + Math.floor((bucket + 2) * width)))) ?? end
    previous = farthest(dots.slice(from, to), previous, next)
    kept.push(previous)
  }
  kept.push(end)
  return kept
}

function centre(dots: readonly Dot[]): Dot | null {
  if (dots.length === 0) return null
  const sum = dots.reduce((a, b) => ({ x: a.x + b.x, y: a.y + b.y }))
  return { x: sum.x / dots.length, y: sum.y / dots.length }
}

/** The dot that makes the largest triangle with its neighbours. */
function farthest(dots: readonly Dot[], before: Dot, after: Dot): Dot {
  let [best, bestArea] = [before, -1]
  for (const dot of dots) {
    const area = Math.abs(
      (before.x - after.x) * (dot.y - before.y) - (before.x - dot.x) * (after.y - before.y),
    )
    if (area > bestArea) [best, bestArea] = [dot, area]
  }
  return best
}

/** Stretches that lie side by side made one, so that at most `limit` are left. */
export function mergeStretches(points: readonly ChartPoint[], limit: number): readonly ChartPoint[] {
  if (points.length <= limit) return points
  const size = Math.ceil(points.length / limit)
  const merged: ChartPoint[] = []
  for (let i = 0; i < points.length; i += size) {
    const group = points.slice(i, i + size)
    merged.push(group.reduce(joined))
  }
  return merged
}

const joined = (a: ChartPoint, b: ChartPoint): ChartPoint => ({ ...together(a, b), x: a.x, endX: b.endX })

/** A line in pieces, none of which crosses a gap. */
export function pieces(dots: readonly Dot[], gaps: readonly number[] = []): readonly (readonly Dot[])[] {
  if (dots.length === 0) return []
  const bounds = gaps.toSorted((a, b) => a - b)
  const found: Dot[][] = [[]]
  let next = 0
  for (const dot of dots) {
    const before = next
    while (next < bounds.length && (bounds[next] ?? Infinity) < dot.x) next++
    const piece = found.at(-1)
    if (piece && (next === before || piece.length === 0)) piece.push(dot)
    else found.push([dot])
  }
  return found
}
