import { useEffect, useState } from 'react'

export interface Size {
  readonly width: number
  readonly height: number
}

/** Returns the size of an element in CSS pixels, null until known. `setElement` is its ref. */
export function useSize(): {
  readonly size: Size | null
  readonly element: HTMLElement | null
  readonly setElement: (element: HTMLElement | null) => void
} {
  const [element, setElement] = useState<HTMLElement | null>(null)
  const [size, setSize] = useState<Size | null>(null)
  useEffect(() => {
    if (element === null) return
    const observer = new ResizeObserver(([entry]) => {
      if (!entry) return
      const { width, height } = entry.contentRect
      setSize((before) => (before?.width === width && before.height === height ? before : { width, height }))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [element])
  return { size, element, setElement }
}

/** True if an element is within 300 px of the viewport. */
export function useIsNear(element: HTMLElement | null): boolean {
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    if (element === null) return
    const observer = new IntersectionObserver((entries) => setNear(entries.at(-1)?.isIntersecting ?? true), {
      rootMargin: '300px',
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [element])
  return isNear
}
