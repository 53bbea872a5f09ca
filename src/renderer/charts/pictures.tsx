/** Export of panels to files: the SVG of the page's own charts, redrawn in one size with its colours inlined. */
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { saveBlob, saveText } from '#renderer/client/download.ts'
import { xAxisSpecs } from './axes.ts'
import { LineDrawing } from './LineDrawing.tsx'
import { inReadingOrder, type Plot, type PlottedLine } from './plot.ts'

export interface Picture {
  readonly svg: SVGSVGElement
  readonly width: number
  readonly height: number
}

const plotSize = { width: 720, height: 320 } as const
const titleHeight = 26
const rowHeight = 16
const pngScale = 2
const maxFrames = 60
const namespace = 'http://www.w3.org/2000/svg'
/**
 * Fonts of an exported picture, which embeds none: without Inter, viewers fall back to one that is no wider, so that
 * labels still fit.
 */
const fonts = "'Inter Variable', Inter, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"

/** Renders a panel with its title above and its legend below, in the colours of the theme. */
export async function pictureOf(plot: Plot, title: string): Promise<Picture> {
  const { width, height } = plotSize
  const rows = legendRows(plot, width)
  const total = titleHeight + height + rows.length * rowHeight + 8
  const drawn = await drawnSvg(plot)
  drawn.setAttribute('y', String(titleHeight))
  const label = { 'font-size': 11, fill: 'var(--muted)', 'text-anchor': 'end' }
  const svg = sheet(width, total, [
    text(title, { x: 12, y: 17, 'font-size': 13, 'font-weight': 600, fill: 'var(--text)' }),
    text(xAxisSpecs[plot.xAxis].label, { x: width - 16, y: 17, ...label }),
    drawn,
    ...rows.flatMap((row, i) => namesOf(row, titleHeight + height + 12 + i * rowHeight)),
  ])
  svg.setAttribute('aria-label', title)
  return { svg, width, height: total }
}

async function drawnSvg(plot: Plot): Promise<SVGSVGElement> {
  const host = document.createElement('div')
  host.setAttribute('aria-hidden', 'true')
  Object.assign(host.style, { position: 'fixed', left: '-9999px', top: '0' })
  document.body.append(host)
  const root = createRoot(host)
  try {
    flushSync(() => root.render(<LineDrawing plot={plot} {...plotSize} />))
    // Parts of a chart register in effects, the x tick labels last.
    for (let i = 0; i < maxFrames && !host.querySelector('.recharts-xAxis-tick-labels text'); i++)
      await new Promise(requestAnimationFrame)
    const svg = host.querySelector<SVGSVGElement>('svg.recharts-surface')?.cloneNode(true)
    if (!(svg instanceof SVGSVGElement)) throw new Error('Expected a chart that is drawn.')
    for (const name of ['style', 'class', 'role', 'tabindex']) svg.removeAttribute(name)
    return svg
  } finally {
    root.unmount()
    host.remove()
  }
}

/** Combines several pictures in two columns; each row is as tall as its taller picture. */
export function sheetOf(pictures: readonly Picture[]): Picture {
  const columns = pictures.length > 1 ? 2 : 1
  let [y, rowEnd] = [0, 0]
  const placed = pictures.map(({ svg, height }, i) => {
    if (i % columns === 0) y = rowEnd
    rowEnd = Math.max(rowEnd, y + height)
    const copy = svg.cloneNode(true)
    if (copy instanceof SVGSVGElement) {
      copy.setAttribute('x', String((i % columns) * plotSize.width))
      copy.setAttribute('y', String(y))
    }
    return copy
  })
  const [width, height] = [columns * plotSize.width, Math.max(1, rowEnd)]
  return { svg: sheet(width, height, placed), width, height }
}

/** Serializes a picture as standalone SVG, without CSS variables of the page. */
const svgText = ({ svg }: Picture): string =>
  new XMLSerializer().serializeToString(svg).replace(/var\(--[\w-]+\)/g, resolveColor)

export const saveSvg = (picture: Picture, name: string): void =>
  saveText(svgText(picture), name, 'image/svg+xml')

/** Saves at twice the size. */
export async function savePng(picture: Picture, name: string): Promise<void> {
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`
  await image.decode()
  const canvas = document.createElement('canvas')
  canvas.width = picture.width * pngScale
  canvas.height = picture.height * pngScale
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height)
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'))
  if (!blob) throw new Error('The picture could not be made.')
  saveBlob(blob, name)
}

/** Resolves a CSS colour such as var(--run-1) to its current value. */
function resolveColor(color: string): string {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1]
  if (name === undefined) return color
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888888'
}

function element(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = document.createElementNS(namespace, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  return made
}

function text(words: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = element('text', attributes)
  made.textContent = words
  return made
}

function sheet(width: number, height: number, content: readonly Node[]): SVGSVGElement {
  const svg = document.createElementNS(namespace, 'svg')
  const attributes = { width, height, viewBox: `0 0 ${String(width)} ${String(height)}`, role: 'img' }
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, String(value))
  svg.setAttribute('font-family', fonts)
  svg.append(element('rect', { width, height, fill: 'var(--bg)' }), ...content)
  return svg
}

const shortLabel = (label: string): string => (label.length > 40 ? `${label.slice(0, 39)}…` : label)

/** Estimates the width at 6.2 px per character of 11 px text. */
const legendWidth = ({ label }: PlottedLine): number => shortLabel(label).length * 6.2 + 34

/** Breaks the names below a picture into rows of its width. */
function legendRows(plot: Plot, width: number): readonly (readonly PlottedLine[])[] {
  const rows: PlottedLine[][] = []
  let free = 0
  for (const line of inReadingOrder(plot.lines)) {
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

function namesOf(row: readonly PlottedLine[], y: number): readonly SVGElement[] {
  let x = 12
  return row.flatMap((line) => {
    const mark = element('path', {
      d: `M${String(x)} ${String(y - 4)}h16`,
      stroke: line.color,
      'stroke-width': line.isBaseline ? 3 : 2,
      ...(line.dash === undefined ? {} : { 'stroke-dasharray': line.dash }),
    })
    const name = text(shortLabel(line.label), { x: x + 21, y, 'font-size': 11, fill: 'var(--text)' })
    x += legendWidth(line)
    return [mark, name]
  })
}
