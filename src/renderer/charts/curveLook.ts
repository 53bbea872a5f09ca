/** How curves are looked at, wherever there are some: all of it can stand in an address. */
import type { Query } from '#renderer/client/route.ts'
import type { ScaleKind } from './scales.ts'
import { maxSmoothing } from './smoothing.ts'
import { xAxes, type XAxis } from './xAxes.ts'

export interface CurveLook {
  readonly x: XAxis
  readonly smoothing: number | 'auto'
  readonly scale: ScaleKind
}

export const usualLook: CurveLook = { x: 'step', smoothing: 'auto', scale: 'linear' }

/** What does not belong into an address is passed over. */
export const parseLook = (query: URLSearchParams): CurveLook => ({
  x: xAxes.find((axis) => axis === query.get('x')) ?? 'step',
  smoothing: smoothingOf(query.get('smoothing')),
  scale: query.get('scale') === 'log' ? 'log' : 'linear',
})

/** An address without any of it leaves the look to what was chosen last. */
export const hasLook = (query: URLSearchParams): boolean =>
  ['x', 'smoothing', 'scale'].some((name) => query.has(name))

/** What differs from the usual only. */
export const lookQuery = ({ x, smoothing, scale }: CurveLook): Query => ({
  x: x === 'step' ? null : x,
  smoothing: smoothing === 'auto' ? null : String(smoothing),
  scale: scale === 'linear' ? null : scale,
})

function smoothingOf(text: string | null): number | 'auto' {
  const value = Number(text ?? Number.NaN)
  return Number.isFinite(value) && value >= 0 && value <= maxSmoothing ? value : 'auto'
}
