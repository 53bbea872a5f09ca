import { memo, useEffect, useRef } from 'react'
import { drawScene } from './drawScene.ts'
import type { PlotProps } from './RechartsPlot.tsx'
import { frameOf } from './scene.ts'
import { resolveColor, useThemeName } from './themeColors.ts'

/** The lines of a panel as pixels: for many lines, where paths would be slow. */
export const CanvasPlot = memo(function CanvasPlot({ scene, width, height }: PlotProps) {
  const ref = useRef<HTMLCanvasElement>(null)
  const theme = useThemeName()
  useEffect(() => {
    const canvas = ref.current
    const context = canvas?.getContext('2d')
    if (!canvas || !context) return
    const ratio = devicePixelRatio || 1
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
    context.scale(ratio, ratio)
    drawScene({ context, scene, frame: frameOf(width, height), resolve: resolveColor })
  }, [scene, width, height, theme])
  return <canvas ref={ref} style={{ width, height }} aria-hidden />
})
