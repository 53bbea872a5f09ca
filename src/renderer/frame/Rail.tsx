import { useRoute, link } from '#renderer/client/route.ts'
import { screens } from './screens.ts'
import { classes } from '#renderer/kit/classes.ts'

const item =
  'flex h-12 w-full shrink-0 flex-col items-center justify-center gap-0.5 rounded text-xs short:h-9.5 short:gap-0 phone:h-10 text-muted -outline-offset-2 hover:bg-raised hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent-ink'

/** The places, always in reach. */
export function Rail() {
  const { path } = useRoute()
  const here = path[0] ?? ''
  return (
    <nav
      aria-label="Places"
      className="flex w-16 shrink-0 flex-col gap-1 overflow-y-auto border-r border-line bg-panel p-1 short:gap-0.5 phone:w-12"
    >
      {screens.map(({ id, title, place }) =>
        place === undefined ? null : (
          <a
            key={id}
            href={link(`/${id}`)}
            title={title}
            aria-current={isAt(here, id) ? 'page' : undefined}
            className={classes(item, id === 'settings' && 'mt-auto')}
          >
            <place.icon size={18} strokeWidth={1.75} aria-hidden />
            <span className="phone:sr-only">{title}</span>
          </a>
        ),
      )}
    </nav>
  )
}

/** A run's page and a new run belong to Runs. */
const isAt = (here: string, id: string): boolean => here === id || (id === 'runs' && here === 'new-run')
