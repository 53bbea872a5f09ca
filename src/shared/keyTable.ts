/**
 * Every shortcut and every place, once: the page's listeners, rail, key sheet and palette, and the menu of the desktop
 * program read this table.
 */

export interface KeyRow {
  readonly group: 'Everywhere' | 'Places' | 'Lists' | 'Charts and samples' | 'Editors'
  readonly label: string
  /** Keys as in KeyboardEvent.code, so that layouts do not matter; `Mod` is ⌘ on a Mac and Ctrl elsewhere. */
  readonly keys: readonly string[]
}

const table = {
  palette: { group: 'Everywhere', label: 'Search and commands', keys: ['Mod+KeyK'] },
  keySheet: { group: 'Everywhere', label: 'Show the keys', keys: ['Shift+Slash', 'Mod+Slash'] },
  newRun: { group: 'Everywhere', label: 'New run', keys: ['Mod+KeyN', 'Alt+KeyN'] },
  addData: { group: 'Everywhere', label: 'Add data', keys: ['Mod+KeyO', 'Alt+KeyO'] },
  act: { group: 'Everywhere', label: 'Main action: dry-run, generate, start', keys: ['Mod+Enter'] },
  home: { group: 'Places', label: 'Home', keys: ['Digit1', 'Mod+Digit1'] },
  data: { group: 'Places', label: 'Data', keys: ['Digit2', 'Mod+Digit2'] },
  rewards: { group: 'Places', label: 'Rewards', keys: ['Digit3', 'Mod+Digit3'] },
  losses: { group: 'Places', label: 'Losses', keys: ['Digit4', 'Mod+Digit4'] },
  workflows: { group: 'Places', label: 'Workflows', keys: ['Digit0'] },
  runs: { group: 'Places', label: 'Runs', keys: ['Digit5', 'Mod+Digit5'] },
  studies: { group: 'Places', label: 'Studies', keys: ['KeyS'] },
  compare: { group: 'Places', label: 'Compare', keys: ['Digit6', 'Mod+Digit6'] },
  chat: { group: 'Places', label: 'Chat', keys: ['KeyT'] },
  arena: { group: 'Places', label: 'Arena', keys: ['Digit7', 'Mod+Digit7'] },
  models: { group: 'Places', label: 'Models', keys: ['Digit8', 'Mod+Digit8'] },
  evaluations: { group: 'Places', label: 'Evaluate', keys: ['Digit9', 'Mod+Digit9'] },
  settings: { group: 'Places', label: 'Settings', keys: ['Mod+Comma'] },
  filter: { group: 'Lists', label: 'Filter', keys: ['Slash'] },
  nextRow: { group: 'Lists', label: 'Next row', keys: ['KeyJ'] },
  previousRow: { group: 'Lists', label: 'Previous row', keys: ['KeyK'] },
  select: { group: 'Lists', label: 'Select', keys: ['KeyX'] },
  compareSelected: { group: 'Lists', label: 'Compare what is selected', keys: ['KeyC'] },
  baseline: { group: 'Lists', label: 'Set as baseline', keys: ['KeyB'] },
  pin: { group: 'Lists', label: 'Pin', keys: ['KeyP'] },
  pauseCharts: { group: 'Charts and samples', label: 'Pause live charts', keys: ['Space'] },
  previousStep: { group: 'Charts and samples', label: 'Previous step', keys: ['BracketLeft'] },
  nextStep: { group: 'Charts and samples', label: 'Next step', keys: ['BracketRight'] },
  save: { group: 'Editors', label: 'Save a version', keys: ['Mod+KeyS'] },
} as const satisfies Record<string, KeyRow>

export type KeyId = keyof typeof table
export const keyTable: Readonly<Record<KeyId, KeyRow>> = table

/** Ids of the rows in the group of places. */
export type PlaceId = {
  [Id in KeyId]: (typeof table)[Id]['group'] extends 'Places' ? Id : never
}[KeyId]

export interface Place {
  readonly id: PlaceId
  readonly title: string
  readonly route: string
  /** Key with Ctrl or ⌘; empty: none, as Ctrl+0 belongs to the zoom. */
  readonly key: string
}

const isPlace = (id: string): id is PlaceId => keyTable[id as KeyId].group === 'Places'

/** Places of the window in the order of rail, menu and keys. */
export const places: readonly Place[] = Object.keys(table)
  .filter(isPlace)
  .map((id) => ({
    id,
    title: table[id].label,
    route: id === 'home' ? '/' : `/${id}`,
    key: table[id].keys.find((key) => key.startsWith('Mod+')) ?? '',
  }))
