import { Component, lazy, Suspense, type ReactNode } from 'react'
import { navigate, useRoute } from '#renderer/client/route.ts'
import { screens } from './screens.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'

const keyOf = (id: string, isItem: boolean): string => (isItem ? `${id}/…` : id)

/** Made once: another lazy component would forget the screen's state. */
const pages: ReadonlyMap<string, ReactNode> = new Map(
  screens.map(({ id, isItem = false, load }) => {
    const Shown = lazy(async () => ({ default: await load() }))
    return [keyOf(id, isItem), <Shown key={id} />]
  }),
)

export function ScreenOutlet() {
  const { path } = useRoute()
  const id = path[0] ?? ''
  const key = path.length > 1 && pages.has(keyOf(id, true)) ? keyOf(id, true) : id
  const page = pages.get(key)
  if (page === undefined) return <NoScreen />
  return (
    <Guard key={key}>
      <Suspense fallback={<Loading />}>{page}</Suspense>
    </Guard>
  )
}

const NoScreen = () => (
  <Page title="Not found">
    <EmptyState
      title="There is nothing at this address."
      action={<Button onClick={() => navigate('/')}>Go home</Button>}
    />
  </Page>
)

/** A fault of one screen leaves the rest of the window working; training is not touched by it. */
class Guard extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <Page title="This page failed">
        <ErrorNote
          error={{
            message: error.message,
            hint: 'Runs go on and nothing is lost. Show the page again.',
            code: error.stack ?? null,
          }}
          action={<Button onClick={() => this.setState({ error: null })}>Show again</Button>}
        />
      </Page>
    )
  }
}
