import { RunPage } from './RunPage.tsx'
import { useRoute } from '#renderer/client/route.ts'

/** One run: /runs/run_…/samples. */
export function RunScreen() {
  const { path } = useRoute()
  return <RunPage runId={path[1] ?? ''} tab={path[2]} />
}
