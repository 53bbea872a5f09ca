/**
 * Places of the window and their views, once: the rail, the keys, the tabs, the palette, the titles, the menu of the
 * desktop program and the way from earlier addresses to these all follow from this table.
 */

/** Goes up when rail, heads or status strip come to look different: the pictures in docs/images are then old. */
export const frameVersion = 1

interface ViewRow {
  readonly title: string
  readonly route: string
  /** Addresses of earlier versions, which lead here with all that followed them. */
  readonly formerly?: readonly string[]
  /** Other names, by which the palette finds it. */
  readonly words?: readonly string[]
  /** Parts of a long page, each with an address of its own below the place: /settings/privacy. */
  readonly sections?: Readonly<Record<string, string>>
  /** True if what it lists is opened on pages of its own, below the view's route. */
  readonly opensPages?: boolean
  /** False for a page that is reached by a button and is no tab. */
  readonly isTab?: boolean
  /** True for tools that most people never need; a switch shows their tabs. */
  readonly isAdvanced?: boolean
}

interface PlaceRow {
  readonly title: string
  /** Shortcuts; by default the number of the place. */
  readonly keys?: readonly string[]
  readonly views: Readonly<Record<string, ViewRow>>
}

const table = {
  home: { title: 'Home', views: { home: { title: 'Home', route: '/' } } },
  data: {
    title: 'Data',
    views: { data: { title: 'Data', route: '/data', words: ['Data sets', 'Import'], opensPages: true } },
  },
  rewards: {
    title: 'Rewards',
    views: {
      rewards: { title: 'Rewards', route: '/rewards', words: ['Reward functions'] },
      environments: { title: 'Environments', route: '/rewards/environments', words: ['Tools', 'Games'] },
      judges: { title: 'Judges', route: '/rewards/judges', words: ['Judge'] },
      workflows: {
        title: 'Workflows',
        route: '/rewards/workflows',
        formerly: ['/workflows'],
        isAdvanced: true,
      },
      losses: { title: 'Losses', route: '/rewards/losses', formerly: ['/losses'], isAdvanced: true },
    },
  },
  runs: {
    title: 'Runs',
    views: {
      runs: { title: 'Table', route: '/runs', words: ['History'], opensPages: true },
      compare: { title: 'Compare', route: '/runs/compare', formerly: ['/compare'], words: ['Comparison'] },
      studies: {
        title: 'Studies',
        route: '/runs/studies',
        formerly: ['/studies'],
        words: ['Sweeps', 'Populations', 'Seeds'],
        opensPages: true,
      },
      newRun: { title: 'New run', route: '/new-run', isTab: false },
    },
  },
  playground: {
    title: 'Playground',
    views: {
      chat: { title: 'Chat', route: '/playground/chat', formerly: ['/chat'], words: ['Talk'] },
      vote: {
        title: 'Blind vote',
        route: '/playground/vote',
        formerly: ['/arena'],
        words: ['Arena', 'Win rate'],
      },
      evaluate: {
        title: 'Evaluate on rows',
        route: '/playground/evaluate',
        formerly: ['/evaluations', '/evaluate'],
        words: ['Evaluate', 'Evaluations'],
      },
    },
  },
  models: {
    title: 'Models',
    views: {
      models: { title: 'Models', route: '/models', words: ['Adapters', 'Models & export'] },
      find: { title: 'Find a model', route: '/models/browse', words: ['Hub', 'Download'] },
      export: { title: 'Export', route: '/models/export', words: ['GGUF', 'Ollama', 'Merge'] },
    },
  },
  settings: {
    title: 'Settings',
    keys: ['Mod+Comma'],
    views: {
      machine: {
        title: 'Machine',
        route: '/settings/machine',
        sections: { devices: 'Devices', 'self-test': 'Self-test', about: 'About' },
        words: ['CUDA'],
      },
      access: {
        title: 'Access',
        route: '/settings/access',
        words: ['Webhook'],
        sections: {
          notifications: 'Notifications',
          python: 'Python',
          'keys-sent': 'Keys sent',
          assistants: 'Assistants',
          server: 'Server',
          hub: 'Hub token',
          privacy: 'Privacy',
        },
      },
      storage: { title: 'Storage', route: '/settings/storage' },
      appearance: {
        title: 'Appearance & keys',
        route: '/settings/appearance',
        sections: { theme: 'Theme', keys: 'Keys' },
        words: ['Appearance', 'Keyboard'],
      },
    },
  },
} as const satisfies Record<string, PlaceRow>

export type PlaceId = keyof typeof table
export type ViewId = { [Id in PlaceId]: keyof (typeof table)[Id]['views'] }[PlaceId]

export interface View extends ViewRow {
  readonly id: ViewId
}

export interface Place {
  readonly id: PlaceId
  readonly title: string
  readonly route: string
  readonly keys: readonly string[]
  /** Tabs of the place, and its pages that are no tabs. */
  readonly views: readonly View[]
}

const rows: Readonly<Record<PlaceId, PlaceRow>> = table

/** Places in the order of rail, menu and keys; settings come last and stand at the foot. */
export const places: readonly Place[] = (Object.keys(rows) as PlaceId[]).map((id, index) => {
  const { title, views, keys = [`Digit${String(index + 1)}`, `Mod+Digit${String(index + 1)}`] } = rows[id]
  const all = Object.entries(views).map(([viewId, view]) => ({ ...view, id: viewId as ViewId }))
  return { id, title, keys, views: all, route: all[0]?.route ?? '/' }
})

export interface Here {
  readonly place: Place
  readonly view: View
  /** Parts of the address after the view's route. */
  readonly rest: readonly string[]
}

const partsOf = (route: string): readonly string[] => route.split('/').filter(Boolean)

const isBelow = (parts: readonly string[], path: readonly string[]): boolean =>
  parts.every((part, i) => part === path[i])

/** Every view with its place, longest routes first. */
const found = places
  .flatMap((place) => place.views.map((view) => ({ place, view, parts: partsOf(view.route) })))
  .toSorted((a, b) => b.parts.length - a.parts.length)

/** Returns the view at an address, given by its parts; null if there is none. */
export function hereAt(path: readonly string[]): Here | null {
  const match = found.find(({ parts }) => isBelow(parts, path) && (parts.length > 0 || path.length === 0))
  if (match === undefined) return null
  const { place, view, parts } = match
  return { place, view, rest: path.slice(parts.length) }
}

const viewOf = (id: ViewId) => found.find(({ view }) => view.id === id)?.view

export const viewRoute = (id: ViewId): string => viewOf(id)?.route ?? '/'

export const viewTitle = (id: ViewId): string => viewOf(id)?.title ?? ''

interface Moved {
  readonly from: readonly string[]
  readonly to: string
  /** Part of the page; null: the page as a whole. */
  readonly section: string | null
}

const moved: readonly Moved[] = places
  .flatMap((place) => [
    { from: [place.id], to: place.route, section: null },
    ...place.views.flatMap(({ route: to, formerly = [], sections = {} }) => [
      ...formerly.map((from) => ({ from: partsOf(from), to, section: null })),
      ...Object.keys(sections).map((section) => ({ from: [place.id, section], to, section })),
    ]),
  ])
  .toSorted((a, b) => b.from.length - a.from.length)

/**
 * Returns today's form of an address such as `/arena?a=starter`; one of today is returned as it is. The section of a
 * page becomes the parameter `at`, and the bare address of a place leads to its first view.
 */
export function forwarded(address: string): string {
  const [path = '', search = ''] = address.split('?', 2)
  const parts = partsOf(path)
  const match = hereAt(parts) === null ? moved.find(({ from }) => isBelow(from, parts)) : undefined
  if (match === undefined) return address
  const rest = parts.slice(match.from.length).map((part) => `/${part}`)
  const query = [match.section === null ? '' : `at=${match.section}`, search].filter(Boolean).join('&')
  return `${match.to}${rest.join('')}${query === '' ? '' : `?${query}`}`
}

export interface PaletteEntry {
  readonly title: string
  readonly address: string
  readonly place: PlaceId
  readonly words: readonly string[]
}

/** Everything of the table that can be gone to, by its name and the names it had. */
export const paletteEntries: readonly PaletteEntry[] = places.flatMap(({ id: place, title, views }) =>
  views
    .filter(({ isTab }) => isTab !== false)
    .flatMap((view): readonly PaletteEntry[] => [
      {
        place,
        address: view.route,
        words: view.words ?? [],
        title: ['/', `/${place}`].includes(view.route) ? title : `${title} › ${view.title}`,
      },
      ...Object.entries(view.sections ?? {}).map(([section, name]) => ({
        place,
        words: [],
        address: forwarded(`/${place}/${section}`),
        title: `${title} › ${name}`,
      })),
    ]),
)
