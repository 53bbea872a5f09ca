import { useArrivals } from '#renderer/client/adding.ts'
import { navigate, useRoute } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { EmptyState } from '#renderer/kit/states.tsx'
import { DataSetList } from './DataSetList.tsx'
import { IncomingPage } from './IncomingPage.tsx'
import { VersionPage } from './VersionPage.tsx'

/** `/data`: files that wait for a decision, else the list; `/data/:versionId`: one version. */
export function DataScreen() {
  const { path, query } = useRoute()
  const arrivals = useArrivals(({ data }) => data)
  const [, versionId] = path
  if (versionId !== undefined && !/^[0-9a-f]{64}$/.test(versionId)) return <NoDataSet />
  if (versionId !== undefined) return <VersionPage key={versionId} versionId={versionId} />
  if (arrivals.length > 0) return <IncomingPage arrivals={arrivals} into={query.get('into')} />
  return <DataSetList />
}

const NoDataSet = () => (
  <Page title="Data set not found">
    <EmptyState
      title="There is no data set at this address."
      action={
        <Button variant="primary" onClick={() => navigate('/data')}>
          Show all data sets
        </Button>
      }
    >
      It may have been deleted.
    </EmptyState>
  </Page>
)
