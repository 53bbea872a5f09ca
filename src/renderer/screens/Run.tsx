import { RunPage } from '../components/run/RunPage.tsx'
import { useRoute } from '../hooks/route.ts'

/** One run: /runs/run_…/samples. */
export function RunScreen() {
  const { path } = useRoute()
  return <RunPage runId={path[1] ?? ''} tab={path[2]} />
}
