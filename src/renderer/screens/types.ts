import type { LucideIcon } from 'lucide-react'
import type { ComponentType } from 'react'
import type { KeyId } from '#shared/keyTable.ts'

/** Loads only when someone goes there. */
export type LoadScreen = () => Promise<ComponentType>

export interface Screen {
  /** First part of the route; empty for home. */
  readonly id: string
  readonly title: string
  /** Shows one of its place, such as /runs/run_…; the place itself is another screen of the same id. */
  readonly isItem?: boolean
  /** Stands in the rail; the others are reached from their place. */
  readonly place?: { readonly icon: LucideIcon; readonly key: KeyId }
  readonly load: LoadScreen
}
