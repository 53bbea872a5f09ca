/** Where the window was when it was last seen, and where it fits now. */

export interface Rectangle {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface WindowState {
  /** Of the window while it is not maximised. */
  readonly bounds: Rectangle
  readonly isMaximized: boolean
}

export const windowStateKey = 'window.state'
export const leastSize = { width: 960, height: 640 }
const usualSize = { width: 1440, height: 900 }

/** What a setting says; null where it says nothing of use. */
export function readWindowState(value: unknown): WindowState | null {
  if (typeof value !== 'object' || value === null || !('bounds' in value) || !isRectangle(value.bounds))
    return null
  const { x, y, width, height } = value.bounds
  return {
    bounds: { x, y, width, height },
    isMaximized: 'isMaximized' in value && value.isMaximized === true,
  }
}

function isRectangle(value: unknown): value is Rectangle {
  if (typeof value !== 'object' || value === null) return false
  const { x, y, width, height } = value as Readonly<Record<string, unknown>>
  return [x, y, width, height].every(Number.isFinite) && Number(width) > 0 && Number(height) > 0
}

/**
 * The same place again, wholly on the display that shows most of it; in the middle of the first where none shows any
 * of it. `workAreas`: of the displays there are now, the primary one first.
 */
export function placeWindow(
  saved: WindowState | null,
  workAreas: readonly [Rectangle, ...Rectangle[]],
): WindowState {
  const [primary] = workAreas
  const shown = saved === null ? null : bestDisplay(saved.bounds, workAreas)
  if (saved === null || shown === null) {
    return { bounds: centred(saved?.bounds ?? usualSize, primary), isMaximized: saved?.isMaximized ?? false }
  }
  const { width, height } = fitted(saved.bounds, shown)
  return {
    bounds: {
      x: clamp(saved.bounds.x, shown.x, shown.x + shown.width - width),
      y: clamp(saved.bounds.y, shown.y, shown.y + shown.height - height),
      width,
      height,
    },
    isMaximized: saved.isMaximized,
  }
}

function bestDisplay(bounds: Rectangle, workAreas: readonly Rectangle[]): Rectangle | null {
  const shares = workAreas.map((area) => ({ area, shown: overlap(bounds, area) }))
  const best = shares.reduce((a, b) => (b.shown > a.shown ? b : a))
  return best.shown > 0 ? best.area : null
}

function overlap(a: Rectangle, b: Rectangle): number {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y)
  return Math.max(0, width) * Math.max(0, height)
}

type Size = Pick<Rectangle, 'width' | 'height'>

const fitted = (size: Size, area: Rectangle): Size => ({
  width: Math.round(clamp(size.width, Math.min(leastSize.width, area.width), area.width)),
  height: Math.round(clamp(size.height, Math.min(leastSize.height, area.height), area.height)),
})

function centred(size: Size, area: Rectangle): Rectangle {
  const { width, height } = fitted(size, area)
  const x = Math.round(area.x + (area.width - width) / 2)
  const y = Math.round(area.y + (area.height - height) / 2)
  return { x, y, width, height }
}

const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high)
