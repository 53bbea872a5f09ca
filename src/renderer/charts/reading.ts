/** What the lines of a panel say at a place. */
import type { BandPoint } from './points.ts'
import { axisNumber3, indexNear } from './summary.ts'
import type { Scene, SceneLine } from './scene.ts'
import { xAxisSpecs } from './xAxes.ts'

export interface Reading {
  readonly line: SceneLine
  /** As drawn. */
  readonly value: number
  /** As it was, where the line is smoothed; else the same. */
  readonly raw: number
  readonly step: number
  readonly lastStep: number
  /** Its place on the x axis. */
  readonly at: number
  /** The band around it there. */
  readonly band: BandPoint | undefined
}

/** How far beside a line its value is still told, as a share of the axis. */
const reachShare = 0.03

/** The highest first. Lines with nothing near are left out. */
export function readingOf(scene: Scene, x: number): readonly Reading[] {
  const [low, high] = scene.x.domain
  const reach = (high - low) * reachShare
  return scene.lines
    .flatMap((line): readonly Reading[] => {
      const index = indexNear(line.points, x, reach)
      const [point, drawn] = [line.points[index], line.drawn[index]]
      if (!point || !drawn) return []
      const raw = point.count > 1 ? point.mean : point.last
      const value = scene.smoothing > 0 ? drawn.y : raw
      const { step, lastStep, endX: at } = point
      return [{ line, value, raw, step, lastStep, at, band: line.band.find(({ x: place }) => place === at) }]
    })
    .sort((a, b) => b.value - a.value)
}

/** “step 120” or “steps 120–139”. */
export function placeText(readings: readonly Reading[], scene: Scene, x: number): string {
  const nearest = nearestOf(readings, x)
  const steps = nearest && stepsText(nearest)
  if (scene.xAxis === 'step') return steps ?? `step ${axisNumber3(Math.round(x))}`
  const place =
    `${xAxisSpecs[scene.xAxis].write(x)} ${scene.xAxis === 'time' ? '' : xAxisSpecs[scene.xAxis].label}`.trim()
  return readings.length === 1 && steps !== undefined ? `${place}, ${steps}` : place
}

/** The one the cursor stands at; the others may have no value at its step. */
export const nearestOf = (readings: readonly Reading[], x: number): Reading | undefined =>
  readings.reduce<Reading | undefined>(
    (best, reading) =>
      best === undefined || Math.abs(reading.at - x) < Math.abs(best.at - x) ? reading : best,
    undefined,
  )

export const stepsText = ({ step, lastStep }: Pick<Reading, 'step' | 'lastStep'>): string =>
  step === lastStep ? `step ${String(step)}` : `steps ${String(step)}–${String(lastStep)}`

export function readingText(readings: readonly Reading[], scene: Scene, x: number): string {
  if (readings.length === 0) return 'no value here'
  const values = readings.map(({ line, value }) => `${line.label} ${axisNumber3(value)}`)
  return `${placeText(readings, scene, x)}: ${values.slice(0, 8).join(', ')}`
}

/** Where the cursor stands for a pointer at x: at the nearest value, whose step is named; inside a stretch at x itself. */
export function snapped(scene: Scene, x: number): number {
  const places = scene.lines.flatMap(({ points }) => {
    const point = points[indexNear(points, x, Infinity)]
    if (!point) return []
    return [point.count > 1 && x >= point.x && x <= point.endX ? x : point.endX]
  })
  const [low, high] = scene.x.domain
  const inside = places.filter((place) => place >= low && place <= high)
  return inside.reduce(
    (best, place) => (Math.abs(place - x) < Math.abs(best - x) ? place : best),
    inside[0] ?? x,
  )
}

/** The step that is nearest to a place, of the line that has most to say there. */
export function stepAt(scene: Scene, x: number): number {
  const [nearest] = scene.lines
    .flatMap(({ points }) => {
      const point = points[indexNear(points, x, Infinity)]
      return point
        ? [{ step: point.lastStep, distance: Math.min(Math.abs(point.x - x), Math.abs(point.endX - x)) }]
        : []
    })
    .sort((a, b) => a.distance - b.distance)
  return nearest?.step ?? Math.round(x)
}

/** Where a key moves the cursor; null: it moves nothing. With shift ten points at once. */
export function walk(scene: Scene, x: number, key: string, isFar: boolean): number | null {
  const longest = scene.lines.reduce<SceneLine | null>(
    (most, line) => (most === null || line.points.length > most.points.length ? line : most),
    null,
  )
  const [low, high] = scene.x.domain
  const points = longest?.points.filter(({ endX }) => endX >= low && endX <= high) ?? []
  const index = indexNear(points, x, Infinity)
  const by = isFar ? 10 : 1
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: index - by,
    ArrowRight: index + by,
    Home: 0,
    End: points.length - 1,
  }
  const target = targets[key]
  if (target === undefined || points.length === 0) return null
  return points[Math.min(points.length - 1, Math.max(0, target))]?.endX ?? null
}
