/** Every screen; its place in the list is its place in the rail. */
import {
  Award,
  Box,
  ChartNoAxesCombined,
  GitCompareArrows,
  House,
  Settings,
  Swords,
  Table2,
  type LucideIcon,
} from 'lucide-react'
import type { ComponentType } from 'react'
import type { KeyId } from '#shared/keyTable.ts'

/** Loads only when someone goes there. */
type LoadScreen = () => Promise<ComponentType>

interface Screen {
  /** First part of the route; empty for home. */
  readonly id: string
  readonly title: string
  /** Shows one of its place, such as /runs/run_…; the place itself is another screen of the same id. */
  readonly isItem?: boolean
  /** Stands in the rail; the others are reached from their place. */
  readonly place?: { readonly icon: LucideIcon; readonly key: KeyId }
  readonly load: LoadScreen
}

export const screens: readonly Screen[] = [
  {
    id: '',
    title: 'Home',
    place: { icon: House, key: 'home' },
    load: async () => (await import('#renderer/features/home/HomeScreen.tsx')).HomeScreen,
  },
  {
    id: 'data',
    title: 'Data',
    place: { icon: Table2, key: 'data' },
    load: async () => (await import('#renderer/features/data/DataScreen.tsx')).DataScreen,
  },
  {
    id: 'rewards',
    title: 'Rewards',
    place: { icon: Award, key: 'rewards' },
    load: async () => (await import('#renderer/features/rewards/RewardsScreen.tsx')).RewardsScreen,
  },
  {
    id: 'runs',
    title: 'Runs',
    place: { icon: ChartNoAxesCombined, key: 'runs' },
    load: async () => (await import('#renderer/features/runs/RunsScreen.tsx')).RunsScreen,
  },
  {
    id: 'runs',
    title: 'Run',
    isItem: true,
    load: async () => (await import('#renderer/features/run/RunScreen.tsx')).RunScreen,
  },
  {
    id: 'compare',
    title: 'Compare',
    place: { icon: GitCompareArrows, key: 'compare' },
    load: async () => (await import('#renderer/features/compare/CompareScreen.tsx')).CompareScreen,
  },
  {
    id: 'arena',
    title: 'Arena',
    place: { icon: Swords, key: 'arena' },
    load: async () => (await import('#renderer/features/arena/ArenaScreen.tsx')).ArenaScreen,
  },
  {
    id: 'models',
    title: 'Models',
    place: { icon: Box, key: 'models' },
    load: async () => (await import('#renderer/features/models/ModelsScreen.tsx')).ModelsScreen,
  },
  {
    id: 'settings',
    title: 'Settings',
    place: { icon: Settings, key: 'settings' },
    load: async () => (await import('#renderer/features/settings/SettingsScreen.tsx')).SettingsScreen,
  },
  {
    id: 'new-run',
    title: 'New run',
    load: async () => (await import('#renderer/features/newRun/NewRunScreen.tsx')).NewRunScreen,
  },
]
