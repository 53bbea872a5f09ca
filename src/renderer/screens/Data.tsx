import { useArrivals } from '../hooks/adding.ts'
import { useRoute } from '../hooks/route.ts'
import { DataSetList } from '../components/data/DataSetList.tsx'
import { IncomingPage } from '../components/data/IncomingPage.tsx'
import { VersionPage } from '../components/data/VersionPage.tsx'

/** `/data`: files that wait for a decision, else the list; `/data/:versionId`: one version. */
export function DataScreen() {
  const { path, query } = useRoute()
  const arrivals = useArrivals(({ data }) => data)
  const [, versionId] = path
  if (versionId !== undefined) return <VersionPage key={versionId} versionId={versionId} />
  if (arrivals.length > 0) return <IncomingPage arrivals={arrivals} into={query.get('into')} />
  return <DataSetList />
}
