import { useEffect, useState } from 'react'
import { useRoute } from '#renderer/client/route.ts'
import { useRunEntry, type RunEntry } from '#renderer/client/runs.ts'
import { sampleTag } from './useSampleRun.ts'
import { useSetting } from '#renderer/client/settings.ts'

/** The run of the sample that is on the page, unless the guide was closed for it. */
export function useGuidedRun(): { readonly run: RunEntry | null; readonly close: () => void } {
  const { path } = useRoute()
  const [closedFor, setClosedFor] = useSetting<string | null>('guide.closedFor', null)
  const run = useRunEntry(path[0] === 'runs' ? (path[1] ?? '') : '')
  const isGuided = run !== undefined && run.tags.includes(sampleTag) && closedFor !== run.id
  return { run: isGuided ? run : null, close: () => setClosedFor(run?.id ?? null) }
}

export interface Place {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

const lookEveryMs = 200

/** Where the first such element is on the screen; null while it is not there. */
export function useGuideTarget(selector: string | null): Place | null {
  const [place, setPlace] = useState<Place | null>(null)
  useEffect(() => {
    const look = () => {
      const element = selector === null ? null : document.querySelector(selector)
      const box = element?.getBoundingClientRect()
      setPlace((before) => {
        if (box === undefined || box.width === 0) return null
        const { left, top, width, height } = box
        const isSame =
          before?.left === left && before.top === top && before.width === width && before.height === height
        return isSame ? before : { left, top, width, height }
      })
    }
    look()
    const timer = setInterval(look, lookEveryMs)
    return () => clearInterval(timer)
  }, [selector])
  return place
}
