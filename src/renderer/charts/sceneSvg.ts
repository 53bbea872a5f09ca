/** A panel as SVG text that stands alone: for files and for the report. */
import type { EventKind } from './points.ts'
import { frameOf, inReadingOrder, strokeWidth, type Frame, type Scene, type SceneLine } from './scene.ts'
import { xAxisSpecs } from './xAxes.ts'

export interface Colors {
  /** What a CSS colour such as var(--run-1) is. */
  readonly resolve: (color: string) => string
}

export interface PictureOptions extends Colors {
  readonly title: string
  readonly width: number
  readonly height: number
}

export const titleHeight = 26
export const legendRowHeight = 16

export const eventColors: Readonly<Record<EventKind, string>> = {
  resume: 'var(--muted)',
  checkpoint: 'var(--faint)',
  alarm: 'var(--bad)',
  reward: 'var(--accent)',
  setting: 'var(--caution)',
}

/** Rows of names under a picture, as wide as it is. Widths are estimates: 6.2 px a letter at 11 px. */
export function legendRows(scene: Scene, width: number): readonly (readonly SceneLine[])[] {
  const rows: SceneLine[][] = []
  let free = 0
  for (const line of inReadingOrder(scene.lines)) {
    const wanted = legendWidth(line)
    const row = rows.at(-1)
    if (row && wanted <= free) row.push(line)
    else {
      rows.push([line])
      free = width - 16
    }
    free -= wanted
  }
  return rows
}

export const legendWidth = ({ label }: SceneLine): number => Math.min(label.length, 40) * 6.2 + 34

export const shortLabel = (label: string): string => (label.length > 40 ? `${label.slice(0, 39)}…` : label)

/** Height of a picture with its title and its names. */
export const pictureHeight = (scene: Scene, { width, height }: PictureOptions): number =>
  titleHeight + height + legendRows(scene, width).length * legendRowHeight + 8

export function sceneSvg(scene: Scene, options: PictureOptions): string {
  const { title, width, height, resolve } = options
  const total = pictureHeight(scene, options)
  const frame = { ...frameOf(width, height), top: frameOf(width, height).top + titleHeight }
  const clip = `plot-${title.replace(/[^A-Za-z0-9]+/g, '-')}`
  const parts = [
    `<rect width="${width}" height="${total}" fill="${resolve('var(--bg)')}"/>`,
    text(title, { x: 12, y: 17, size: 13, color: resolve('var(--text)'), weight: 600 }),
    ...axes(scene, frame, resolve),
    `<clipPath id="${clip}"><rect x="${frame.left}" y="${frame.top - 2}" width="${frame.width}" height="${frame.height + 4}"/></clipPath>`,
    `<g clip-path="url(#${clip})">`,
    ...eventMarks(scene, frame, resolve),
    ...scene.lines.flatMap((line) => lineParts(line, scene, frame, resolve)),
    '</g>',
    ...legend(scene, titleHeight + height, { width, resolve }),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${total}" viewBox="0 0 ${width} ${total}" font-family="Inter, system-ui, sans-serif" role="img" aria-label="${escaped(title)}">${parts.join('')}</svg>`
}

/** Columns of a sheet. */
const sheetColumns = (count: number): number => (count > 1 ? 2 : 1)

/** Several pictures in one, two side by side. */
export function svgSheet(
  pictures: readonly { readonly title: string; readonly scene: Scene }[],
  options: Omit<PictureOptions, 'title'>,
): string {
  const places = sheetPlaces(pictures, options)
  const inner = pictures.map(({ title, scene }, i) => {
    const { x = 0, y = 0 } = places.places[i] ?? {}
    return sceneSvg(scene, { ...options, title }).replace('<svg ', `<svg x="${x}" y="${y}" `)
  })
  const { width, height } = places
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="${width}" height="${height}" fill="${options.resolve('var(--bg)')}"/>${inner.join('')}</svg>`
}

/** Rows are as high as the higher of their pictures. */
export function sheetPlaces(
  pictures: readonly { readonly title: string; readonly scene: Scene }[],
  options: Omit<PictureOptions, 'title'>,
) {
  const columns = sheetColumns(pictures.length)
  const heights = pictures.map(({ title, scene }) => pictureHeight(scene, { ...options, title }))
  const places: { readonly x: number; readonly y: number }[] = []
  let y = 0
  for (let i = 0; i < pictures.length; i += columns) {
    for (let column = 0; column < columns; column++) places.push({ x: column * options.width, y })
    y += Math.max(...heights.slice(i, i + columns))
  }
  return { places, width: columns * options.width, height: y }
}

interface TextStyle {
  readonly x: number
  readonly y: number
  readonly size: number
  readonly color: string
  readonly weight?: number
  readonly anchor?: 'start' | 'middle' | 'end'
}

const text = (words: string, { x, y, size, color, weight = 400, anchor = 'start' }: TextStyle): string =>
  `<text x="${rounded(x)}" y="${rounded(y)}" font-size="${size}" font-weight="${weight}" fill="${color}" text-anchor="${anchor}">${escaped(words)}</text>`

function axes(scene: Scene, frame: Frame, resolve: Colors['resolve']): string[] {
  const { left, top, width, height } = frame
  const [line, faint] = [resolve('var(--line)'), resolve('var(--muted)')]
  const grid = scene.yTicks.flatMap(({ at, text: words }) => {
    const y = yOf(at, scene, frame)
    return [
      `<path d="M${left} ${rounded(y)}H${left + width}" stroke="${line}"/>`,
      text(words, { x: left - 6, y: y + 4, size: 11, color: faint, anchor: 'end' }),
    ]
  })
  const ticks = scene.xTicks.map(({ at, text: words }) =>
    text(words, { x: xOf(at, scene, frame), y: top + height + 15, size: 11, color: faint, anchor: 'middle' }),
  )
  const label = text(xAxisSpecs[scene.xAxis].label, {
    x: left + width,
    y: 17,
    size: 11,
    color: faint,
    anchor: 'end',
  })
  const foot = `<path d="M${left} ${top + height}h${width}" stroke="${line}"/>`
  return [...grid, foot, ...ticks, label]
}

function eventMarks(scene: Scene, frame: Frame, resolve: Colors['resolve']): string[] {
  return scene.events.map(({ x, kind, label, color }) => {
    const at = rounded(xOf(x, scene, frame))
    const stroke = resolve(color ?? eventColors[kind])
    return `<path d="M${at} ${frame.top}V${frame.top + frame.height}" stroke="${stroke}" stroke-dasharray="2 3"><title>${escaped(label)}</title></path>`
  })
}

function lineParts(line: SceneLine, scene: Scene, frame: Frame, resolve: Colors['resolve']): string[] {
  const color = resolve(line.color)
  const path = (pieces: SceneLine['main'], extra: string) => {
    const d = pieces
      .map((dots) => dots.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${point(x, y, scene, frame)}`).join(''))
      .join('')
    return d === '' ? [] : [`<path d="${d}" fill="none" stroke="${color}" stroke-linejoin="round" ${extra}/>`]
  }
  const dash = line.dash === undefined ? '' : ` stroke-dasharray="${line.dash}"`
  return [
    ...bandPart(line, scene, frame, color),
    ...path(line.raw, 'stroke-width="1" stroke-opacity="0.25"'),
    ...path(line.main, `stroke-width="${strokeWidth(line, scene.lines.length)}"${dash}`),
    ...line.lone.map(
      ({ x, y }) =>
        `<circle cx="${rounded(xOf(x, scene, frame))}" cy="${rounded(yOf(y, scene, frame))}" r="2.5" fill="${color}"/>`,
    ),
    ...line.gaps.map((x) => {
      const at = rounded(xOf(x, scene, frame))
      const bottom = frame.top + frame.height
      return `<path d="M${at} ${bottom - 8}V${bottom}" stroke="${resolve('var(--bad)')}" stroke-width="2"/>`
    }),
    ...line.clampedAt.map((x) => {
      const [at, bottom] = [xOf(x, scene, frame), frame.top + frame.height]
      return `<path d="M${rounded(at - 3)} ${bottom - 5}h6l-3 5z" fill="${color}"/>`
    }),
  ]
}

function bandPart({ band }: SceneLine, scene: Scene, frame: Frame, color: string): string[] {
  if (band.length < 2) return []
  const upper = band.map(({ x, high }) => point(x, high, scene, frame))
  const lower = band.map(({ x, low }) => point(x, low, scene, frame)).reverse()
  return [`<path d="M${[...upper, ...lower].join('L')}Z" fill="${color}" fill-opacity="0.16"/>`]
}

function legend(scene: Scene, top: number, { width, resolve }: { width: number } & Colors): string[] {
  return legendRows(scene, width).flatMap((row, i) => {
    let x = 12
    const y = top + 12 + i * legendRowHeight
    return row.flatMap((line) => {
      const dash = line.dash === undefined ? '' : ` stroke-dasharray="${line.dash}"`
      const mark = `<path d="M${rounded(x)} ${y - 4}h16" stroke="${resolve(line.color)}" stroke-width="${line.isBaseline ? 3 : 2}"${dash}/>`
      const name = text(shortLabel(line.label), { x: x + 21, y, size: 11, color: resolve('var(--text)') })
      x += legendWidth(line)
      return [mark, name]
    })
  })
}

export const xOf = (x: number, scene: Scene, frame: Frame): number =>
  frame.left + scene.x.share(x) * frame.width
export const yOf = (y: number, scene: Scene, frame: Frame): number =>
  frame.top + (1 - scene.y.share(y)) * frame.height

const point = (x: number, y: number, scene: Scene, frame: Frame): string =>
  `${rounded(xOf(x, scene, frame))} ${rounded(yOf(y, scene, frame))}`

const rounded = (value: number): number => Math.round(value * 100) / 100

/** Text as XML and HTML have it. */
export const escaped = (words: string): string =>
  words
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
