/** A panel on a canvas: live where there are many lines, and as a picture in a file. */
import { strokeWidth, type Frame, type Scene, type SceneLine } from './scene.ts'
import { eventColors, xOf, yOf, type Colors } from './sceneSvg.ts'
import { xAxisSpecs } from './xAxes.ts'

export interface Drawing extends Colors {
  readonly context: CanvasRenderingContext2D
  readonly scene: Scene
  readonly frame: Frame
}

const font = '11px "Inter Variable", Inter, system-ui, sans-serif'

export function drawScene(drawing: Drawing): void {
  const { context, frame, scene } = drawing
  drawAxes(drawing)
  context.save()
  context.beginPath()
  context.rect(frame.left, frame.top - 2, frame.width, frame.height + 4)
  context.clip()
  drawEvents(drawing)
  for (const line of scene.lines) drawLine(drawing, line)
  context.restore()
}

function drawAxes({ context, scene, frame, resolve }: Drawing): void {
  const { left, top, width, height } = frame
  context.font = font
  context.lineWidth = 1
  context.textBaseline = 'middle'
  context.textAlign = 'right'
  for (const { at, text } of scene.yTicks) {
    const y = Math.round(yOf(at, scene, frame)) + 0.5
    context.strokeStyle = resolve('var(--line)')
    context.beginPath()
    context.moveTo(left, y)
    context.lineTo(left + width, y)
    context.stroke()
    context.fillStyle = resolve('var(--faint)')
    context.fillText(text, left - 6, y)
  }
  context.strokeStyle = resolve('var(--line)')
  context.beginPath()
  context.moveTo(left, top + height + 0.5)
  context.lineTo(left + width, top + height + 0.5)
  context.stroke()
  context.textAlign = 'center'
  for (const { at, text } of scene.xTicks) context.fillText(text, xOf(at, scene, frame), top + height + 13)
}

/** What stands along the x axis, in a picture that has no other words for it. */
export function drawAxisLabel({ context, scene, frame, resolve }: Drawing): void {
  context.font = font
  context.textAlign = 'right'
  context.textBaseline = 'alphabetic'
  context.fillStyle = resolve('var(--faint)')
  context.fillText(xAxisSpecs[scene.xAxis].label, frame.left + frame.width, 17)
}

function drawEvents({ context, scene, frame, resolve }: Drawing): void {
  context.lineWidth = 1
  context.setLineDash([2, 3])
  for (const { x, kind, color } of scene.events) {
    const at = Math.round(xOf(x, scene, frame)) + 0.5
    context.strokeStyle = resolve(color ?? eventColors[kind])
    context.beginPath()
    context.moveTo(at, frame.top)
    context.lineTo(at, frame.top + frame.height)
    context.stroke()
  }
  context.setLineDash([])
}

function drawLine(drawing: Drawing, line: SceneLine): void {
  const { context, scene, resolve } = drawing
  const color = resolve(line.color)
  context.strokeStyle = color
  context.fillStyle = color
  context.lineJoin = 'round'
  drawBand(drawing, line)
  context.globalAlpha = 0.25
  context.lineWidth = 1
  drawPieces(drawing, line.raw)
  context.globalAlpha = 1
  context.lineWidth = strokeWidth(line, scene.lines.length)
  context.setLineDash(line.dash?.split(' ').map(Number) ?? [])
  drawPieces(drawing, line.main)
  context.setLineDash([])
  drawMarks(drawing, line)
}

function drawPieces({ context, scene, frame }: Drawing, pieces: SceneLine['main']): void {
  context.beginPath()
  for (const dots of pieces) {
    for (const [i, { x, y }] of dots.entries()) {
      if (i === 0) context.moveTo(xOf(x, scene, frame), yOf(y, scene, frame))
      else context.lineTo(xOf(x, scene, frame), yOf(y, scene, frame))
    }
  }
  context.stroke()
}

function drawBand({ context, scene, frame }: Drawing, { band }: SceneLine): void {
  if (band.length < 2) return
  context.globalAlpha = 0.16
  context.beginPath()
  for (const { x, high } of band) context.lineTo(xOf(x, scene, frame), yOf(high, scene, frame))
  for (const { x, low } of band.toReversed()) context.lineTo(xOf(x, scene, frame), yOf(low, scene, frame))
  context.closePath()
  context.fill()
}

function drawMarks({ context, scene, frame, resolve }: Drawing, line: SceneLine): void {
  const bottom = frame.top + frame.height
  for (const { x, y } of line.lone) {
    context.beginPath()
    context.arc(xOf(x, scene, frame), yOf(y, scene, frame), 2.5, 0, 2 * Math.PI)
    context.fill()
  }
  for (const x of line.clampedAt) {
    const at = xOf(x, scene, frame)
    context.beginPath()
    context.moveTo(at - 3, bottom - 5)
    context.lineTo(at + 3, bottom - 5)
    context.lineTo(at, bottom)
    context.fill()
  }
  context.strokeStyle = resolve('var(--bad)')
  context.lineWidth = 2
  for (const x of line.gaps) {
    const at = xOf(x, scene, frame)
    context.beginPath()
    context.moveTo(at, bottom - 8)
    context.lineTo(at, bottom)
    context.stroke()
  }
}
