import { useAnswer } from '#renderer/client/api.tsx'
import { link } from '#renderer/client/route.ts'
import { useSetting } from '#renderer/client/settings.ts'
import type { Here, Place } from '#shared/places.ts'
import { Button } from './Button.tsx'
import { classes } from './classes.ts'

/** Links to the views of a place, and the switch that shows those that most people never need. */
export function ViewTabs({ here: { place, view } }: { here: Here }) {
  const hasAdvanced = place.views.some(({ isAdvanced }) => isAdvanced)
  const { isShown, setShown } = useAdvanced(hasAdvanced)
  const shown = place.views.filter((each) => isTab(each) && (!each.isAdvanced || isShown || each === view))
  return (
    <nav
      aria-label={`Views of ${place.title}`}
      className="flex max-w-full min-w-0 flex-wrap items-center gap-0.5 phone:order-1 phone:-ml-2 phone:basis-full"
    >
      {shown.map(({ id, title, route }) => (
        <a key={id} href={link(route)} aria-current={id === view.id ? 'page' : undefined} className={tab}>
          {title}
        </a>
      ))}
      {hasAdvanced && (
        <Button
          small
          variant="quiet"
          aria-pressed={isShown}
          title={place.views
            .filter(({ isAdvanced }) => isAdvanced)
            .map(({ title }) => title)
            .join(', ')}
          onClick={() => setShown(!isShown)}
        >
          {isShown ? 'Hide advanced' : 'Show advanced'}
        </Button>
      )}
    </nav>
  )
}

const tab = classes(
  'inline-flex h-7 shrink-0 items-center rounded px-2 whitespace-nowrap text-muted hover:bg-raised hover:text-text',
  'aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent-ink',
)

const isTab = (view: Place['views'][number]): boolean => view.isTab !== false

/** Remembers the switch; until it is used, advanced tools are shown to whoever has written one. */
function useAdvanced(enabled: boolean) {
  const [chosen, setShown] = useSetting<boolean | null>('window.advanced', null)
  const { data: code = [] } = useAnswer('rewards.list', {}, { enabled })
  const hasOwn = code.some(({ kind }) => kind === 'workflow' || kind === 'loss')
  return { isShown: chosen ?? hasOwn, setShown }
}
