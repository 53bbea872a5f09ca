/** Panels as files: PNG at twice the size, SVG, text. Saved as downloads; the shell asks where to put them. */
import { drawAxisLabel, drawScene } from './drawScene.ts'
import { frameOf, type Frame, type Scene } from './scene.ts'
import {
  legendRowHeight,
  legendRows,
  legendWidth,
  pictureHeight,
  sceneSvg,
  sheetPlaces,
  shortLabel,
  titleHeight,
  type Colors,
  type PictureOptions,
} from './sceneSvg.ts'
import { resolveColor } from './themeColors.ts'

/** Of a panel in a file, in px. */
export const fileSize = { width: 720, height: 320 } as const
const pngScale = 2

/** Letters, digits and dashes only. */
export const fileNameOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '') || 'chart'

export function saveSceneSvg(scene: Scene, title: string, name: string): void {
  saveText(sceneSvg(scene, { title, ...fileSize, resolve: resolveColor }), name, 'image/svg+xml')
}

export async function saveScenePng(scene: Scene, title: string, name: string): Promise<void> {
  saveBlob(await pngOf(scene, { title, ...fileSize, resolve: resolveColor }), name)
}

/** With its title above and its names below. */
function pngOf(scene: Scene, options: PictureOptions): Promise<Blob> {
  const { canvas, context } = canvasOf(options.width, pictureHeight(scene, options))
  drawPicture(context, scene, options)
  return blobOf(canvas)
}

/** Several pictures in one, two side by side. */
export function pngSheet(
  pictures: readonly { readonly title: string; readonly scene: Scene }[],
  resolve: Colors['resolve'],
): Promise<Blob> {
  const options = { ...fileSize, resolve }
  const { places, width, height } = sheetPlaces(pictures, options)
  const { canvas, context } = canvasOf(width, Math.max(1, height))
  context.fillStyle = resolve('var(--bg)')
  context.fillRect(0, 0, width, height)
  for (const [i, { title, scene }] of pictures.entries()) {
    const { x = 0, y = 0 } = places[i] ?? {}
    context.save()
    context.translate(x, y)
    drawPicture(context, scene, { ...options, title })
    context.restore()
  }
  return blobOf(canvas)
}

function canvasOf(width: number, height: number) {
  const canvas = document.createElement('canvas')
  canvas.width = width * pngScale
  canvas.height = height * pngScale
  const context = canvas.getContext('2d')
  if (!context) throw new Error('Expected a canvas that can be drawn on.')
  context.scale(pngScale, pngScale)
  return { canvas, context }
}

const blobOf = (canvas: HTMLCanvasElement): Promise<Blob> =>
  new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error('The picture could not be made.'))),
      'image/png',
    ),
  )

function drawPicture(context: CanvasRenderingContext2D, scene: Scene, options: PictureOptions): void {
  const { title, width, height, resolve } = options
  context.fillStyle = resolve('var(--bg)')
  context.fillRect(0, 0, width, pictureHeight(scene, options))
  context.fillStyle = resolve('var(--text)')
  context.textAlign = 'left'
  context.textBaseline = 'alphabetic'
  context.font = '600 13px "Inter Variable", Inter, system-ui, sans-serif'
  context.fillText(title, 12, 17)
  const inner = frameOf(width, height)
  const frame: Frame = { ...inner, top: inner.top + titleHeight }
  drawScene({ context, scene, frame, resolve })
  drawAxisLabel({ context, scene, frame, resolve })
  drawNames(context, scene, options)
}

function drawNames(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { width, height, resolve }: PictureOptions,
): void {
  context.textAlign = 'left'
  context.textBaseline = 'alphabetic'
  for (const [i, row] of legendRows(scene, width).entries()) {
    let x = 12
    const y = titleHeight + height + 12 + i * legendRowHeight
    for (const line of row) {
      context.strokeStyle = resolve(line.color)
      context.lineWidth = line.isBaseline ? 3 : 2
      context.setLineDash(line.dash?.split(' ').map(Number) ?? [])
      context.beginPath()
      context.moveTo(x, y - 4)
      context.lineTo(x + 16, y - 4)
      context.stroke()
      context.setLineDash([])
      context.fillStyle = resolve('var(--text)')
      context.fillText(shortLabel(line.label), x + 21, y)
      x += legendWidth(line)
    }
  }
}

export const saveText = (text: string, name: string, type: string): void =>
  saveBlob(new Blob([text], { type: `${type};charset=utf-8` }), name)

/** As a download. */
export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = name
  anchor.click()
  // The download has its own hold of the blob once it has begun.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
