import { useEffect } from 'react'
import { useLatest } from '#renderer/client/api.tsx'
import { captured, type Capture } from './keyRules.ts'

/** Takes the next press for itself, before any shortcut hears it. */
export function useKeyCapture(
  isOn: boolean,
  onCapture: (capture: Exclude<Capture, { kind: 'wait' }>) => void,
): void {
  const latest = useLatest(onCapture)
  useEffect(() => {
    if (!isOn) return
    const listen = (event: KeyboardEvent) => {
      event.preventDefault()
      event.stopImmediatePropagation()
      const capture = captured(event)
      if (capture.kind !== 'wait') latest.current(capture)
    }
    addEventListener('keydown', listen, { capture: true })
    return () => removeEventListener('keydown', listen, { capture: true })
  }, [isOn, latest])
}
