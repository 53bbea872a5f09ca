import { useArrivals } from '#renderer/client/adding.ts'
import { useRoute } from '#renderer/client/route.ts'
import { ExportPage } from './ExportPage.tsx'
import { ModelsPage } from './ModelsPage.tsx'

/** `/models`, `/models/:name`: the models; `/models/export?run=&step=`: taking one out of the program. */
export function ModelsScreen() {
  const { path, query } = useRoute()
  const incoming = useArrivals(({ model }) => model)
  const [, name] = path
  if (name === 'export') {
    const step = /^\d+$/.exec(query.get('step') ?? '')?.[0]
    return <ExportPage runId={query.get('run')} step={step === undefined ? null : Number(step)} />
  }
  // Where somebody goes to a model, what arrived waits.
  const adapterName = query.get('adapter')
  const isHere = name === undefined && adapterName === null
  return <ModelsPage name={name ?? null} adapterName={adapterName} incoming={isHere ? incoming : null} />
}
