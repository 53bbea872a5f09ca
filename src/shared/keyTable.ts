/** Every shortcut, once: the page's listeners, the key sheet and the menu of the desktop program read this table. */
import { places, type PlaceId } from './places.ts'

export interface KeyRow {
  readonly group: 'Everywhere' | 'Places' | 'Lists' | 'Charts and samples' | 'Labels' | 'Editors'
  readonly label: string
  /** Keys as in KeyboardEvent.code, so that layouts do not matter; `Mod` is ⌘ on a Mac and Ctrl elsewhere. */
  readonly keys: readonly string[]
}

const placeKeys = Object.fromEntries(
  places.map(({ id, title, keys }) => [id, { group: 'Places', label: title, keys }]),
) as Readonly<Record<PlaceId, KeyRow>>

const table = {
  palette: { group: 'Everywhere', label: 'Search and commands', keys: ['Mod+KeyK'] },
  keySheet: { group: 'Everywhere', label: 'Show the keys', keys: ['Shift+Slash', 'Mod+Slash'] },
  newRun: { group: 'Everywhere', label: 'New run', keys: ['Mod+KeyN', 'Alt+KeyN'] },
  addData: { group: 'Everywhere', label: 'Add data', keys: ['Mod+KeyO', 'Alt+KeyO'] },
  act: { group: 'Everywhere', label: 'Main action: dry-run, generate, start', keys: ['Mod+Enter'] },
  ...placeKeys,
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
  rateGood: { group: 'Labels', label: 'Good answer', keys: ['KeyU'] },
  rateBad: { group: 'Labels', label: 'Bad answer', keys: ['KeyD'] },
  prefer: { group: 'Labels', label: 'Better than the others', keys: ['KeyF'] },
  editAnswer: { group: 'Labels', label: 'Edit the answer', keys: ['KeyE'] },
  undoLabel: { group: 'Labels', label: 'Undo the last label', keys: ['KeyZ'] },
  save: { group: 'Editors', label: 'Save a version', keys: ['Mod+KeyS'] },
} as const satisfies Record<string, KeyRow>

export type KeyId = keyof typeof table
export const keyTable: Readonly<Record<KeyId, KeyRow>> = table
