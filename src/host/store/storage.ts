/** The parts of a host that keep what lasts, for functions that need no more of it. */
import type { ChangeNotifier } from './changeNotifier.ts'
import type { Store } from './store.ts'

export interface DataStorage {
  readonly dataDirectory: string
  /** The database of the history. */
  readonly store: Store
}

/** DataStorage whose changes others are notified of. */
export interface ObservedStorage extends DataStorage {
  readonly notifier: ChangeNotifier
}
