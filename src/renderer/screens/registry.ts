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
} from 'lucide-react'
import type { Screen } from './types.ts'

export const screens: readonly Screen[] = [
  {
    id: '',
    title: 'Home',
    place: { icon: House, key: 'home' },
    load: async () => (await import('./Home.tsx')).HomeScreen,
  },
  {
    id: 'data',
    title: 'Data',
    place: { icon: Table2, key: 'data' },
    load: async () => (await import('./Data.tsx')).DataScreen,
  },
  {
    id: 'rewards',
    title: 'Rewards',
    place: { icon: Award, key: 'rewards' },
    load: async () => (await import('./Rewards.tsx')).RewardsScreen,
  },
  {
    id: 'runs',
    title: 'Runs',
    place: { icon: ChartNoAxesCombined, key: 'runs' },
    load: async () => (await import('./Runs.tsx')).RunsScreen,
  },
  {
    id: 'runs',
    title: 'Run',
    isItem: true,
    load: async () => (await import('./Run.tsx')).RunScreen,
  },
  {
    id: 'compare',
    title: 'Compare',
    place: { icon: GitCompareArrows, key: 'compare' },
    load: async () => (await import('./Compare.tsx')).CompareScreen,
  },
  {
    id: 'arena',
    title: 'Arena',
    place: { icon: Swords, key: 'arena' },
    load: async () => (await import('./Arena.tsx')).ArenaScreen,
  },
  {
    id: 'models',
    title: 'Models',
    place: { icon: Box, key: 'models' },
    load: async () => (await import('./Models.tsx')).ModelsScreen,
  },
  {
    id: 'settings',
    title: 'Settings',
    place: { icon: Settings, key: 'settings' },
    load: async () => (await import('./Settings.tsx')).SettingsScreen,
  },
  {
    id: 'new-run',
    title: 'New run',
    load: async () => (await import('./NewRun.tsx')).NewRunScreen,
  },
]
