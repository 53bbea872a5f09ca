/** All screens: one per place of #shared/keyTable.ts, and the pages reached from them. */
import {
  Award,
  Box,
  ChartNoAxesCombined,
  FlaskConical,
  Gauge,
  GitCompareArrows,
  House,
  MessagesSquare,
  Settings,
  Sigma,
  Swords,
  Table2,
  Workflow,
  type LucideIcon,
} from 'lucide-react'
import type { ComponentType } from 'react'
import { places, type PlaceId } from '#shared/keyTable.ts'

interface Page {
  /** Loads the screen on its first visit. */
  readonly load: () => Promise<ComponentType>
}

interface Screen extends Page {
  /** First part of the route; empty for home. */
  readonly id: string
  readonly title: string
  /** Shows one item, such as /runs/run_…; the place itself is another screen with the same id. */
  readonly isItem?: boolean
  /** Entry in the rail; other screens are reached from their place. */
  readonly place?: { readonly icon: LucideIcon; readonly key: PlaceId }
}

const shownAt: Readonly<Record<PlaceId, Page & { readonly icon: LucideIcon }>> = {
  home: {
    icon: House,
    load: async () => (await import('#renderer/features/home/HomeScreen.tsx')).HomeScreen,
  },
  data: {
    icon: Table2,
    load: async () => (await import('#renderer/features/data/DataScreen.tsx')).DataScreen,
  },
  rewards: {
    icon: Award,
    load: async () => (await import('#renderer/features/rewards/RewardsScreen.tsx')).RewardsScreen,
  },
  losses: {
    icon: Sigma,
    load: async () => (await import('#renderer/features/rewards/RewardsScreen.tsx')).LossesScreen,
  },
  workflows: {
    icon: Workflow,
    load: async () => (await import('#renderer/features/rewards/RewardsScreen.tsx')).WorkflowsScreen,
  },
  runs: {
    icon: ChartNoAxesCombined,
    load: async () => (await import('#renderer/features/runs/RunsScreen.tsx')).RunsScreen,
  },
  studies: {
    icon: FlaskConical,
    load: async () => (await import('#renderer/features/studies/StudiesScreen.tsx')).StudiesScreen,
  },
  compare: {
    icon: GitCompareArrows,
    load: async () => (await import('#renderer/features/compare/CompareScreen.tsx')).CompareScreen,
  },
  chat: {
    icon: MessagesSquare,
    load: async () => (await import('#renderer/features/chat/ChatScreen.tsx')).ChatScreen,
  },
  arena: {
    icon: Swords,
    load: async () => (await import('#renderer/features/arena/ArenaScreen.tsx')).ArenaScreen,
  },
  models: {
    icon: Box,
    load: async () => (await import('#renderer/features/models/ModelsScreen.tsx')).ModelsScreen,
  },
  evaluations: {
    icon: Gauge,
    load: async () =>
      (await import('#renderer/features/evaluations/EvaluationsScreen.tsx')).EvaluationsScreen,
  },
  settings: {
    icon: Settings,
    load: async () => (await import('#renderer/features/settings/SettingsScreen.tsx')).SettingsScreen,
  },
}

export const screens: readonly Screen[] = [
  ...places.map(({ id, title, route }) => {
    const { icon, load } = shownAt[id]
    return { id: route.slice(1), title, place: { icon, key: id }, load }
  }),
  {
    id: 'runs',
    title: 'Run',
    isItem: true,
    load: async () => (await import('#renderer/features/run/RunScreen.tsx')).RunScreen,
  },
  {
    id: 'studies',
    title: 'Study',
    isItem: true,
    load: async () => (await import('#renderer/features/studies/StudyScreen.tsx')).StudyScreen,
  },
  {
    id: 'new-run',
    title: 'New run',
    load: async () => (await import('#renderer/features/newRun/NewRunScreen.tsx')).NewRunScreen,
  },
]
