/** Notifications of the browser: of runs that ended or went wrong while nobody looked at this tab. */
import { useEffect, useState } from 'react'
import { create } from 'zustand'
import { RunNotices } from '#shared/notices.ts'
import { shell } from './connection.ts'
import { navigate } from './route.ts'
import { useRuns } from './runs.ts'

const isKnown = 'Notification' in globalThis

const usePermission = create<{ readonly permission: NotificationPermission }>(() => ({
  permission: isKnown ? Notification.permission : 'denied',
}))

/** Permission of this browser to show notifications, and the question to its user. */
export function useNotices() {
  const { permission } = usePermission()
  const ask = () =>
    void Notification.requestPermission().then((given) => usePermission.setState({ permission: given }))
  return { permission, ask }
}

/** Shows them; the desktop program does it itself. Mounted once, near the root. */
export function useBrowserNotices(): void {
  const { runs, workers } = useRuns()
  const [notices] = useState(() => new RunNotices())
  useEffect(() => {
    const found = notices.look(
      workers.map(({ runId }) => runId),
      (id) => runs.find((run) => run.id === id),
    )
    if (shell !== null || !isKnown || Notification.permission !== 'granted' || !document.hidden) return
    // Several tabs of one window tell the same once: the browser replaces by the tag.
    for (const { title, body, route } of found) {
      const shown = new Notification(title, { body, tag: `${title} ${route}` })
      shown.onclick = () => {
        window.focus()
        navigate(route)
        shown.close()
      }
    }
  }, [runs, workers, notices])
}
