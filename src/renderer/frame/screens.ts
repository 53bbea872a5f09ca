/** Screens of the views of #shared/places.ts, and the pages on which a view opens one of its things. */
import {
  Award,
  Box,
  ChartNoAxesCombined,
  House,
  MessagesSquare,
  Settings,
  Table2,
  type LucideIcon,
} from 'lucide-react'
import type { ComponentType } from 'react'
import type { PlaceId, ViewId } from '#shared/places.ts'

export const placeIcons: Readonly<Record<PlaceId, LucideIcon>> = {
  home: House,
  data: Table2,
  rewards: Award,
  runs: ChartNoAxesCombined,
  playground: MessagesSquare,
  models: Box,
  settings: Settings,
}

/** Loads a screen on its first visit. */
export type Load = () => Promise<ComponentType>

const settings: Load = async () =>
  (await import('#renderer/features/settings/SettingsScreen.tsx')).SettingsScreen
const rewards: Load = async () => (await import('#renderer/features/rewards/RewardsScreen.tsx')).RewardsScreen
const models: Load = async () => (await import('#renderer/features/models/ModelsScreen.tsx')).ModelsScreen

export const screens: Readonly<Record<ViewId, Load>> = {
  home: async () => (await import('#renderer/features/home/HomeScreen.tsx')).HomeScreen,
  data: async () => (await import('#renderer/features/data/DataScreen.tsx')).DataScreen,
  rewards,
  environments: rewards,
  judges: rewards,
  workflows: rewards,
  losses: rewards,
  runs: async () => (await import('#renderer/features/runs/RunsScreen.tsx')).RunsScreen,
  compare: async () => (await import('#renderer/features/compare/CompareScreen.tsx')).CompareScreen,
  studies: async () => (await import('#renderer/features/studies/StudiesScreen.tsx')).StudiesScreen,
  newRun: async () => (await import('#renderer/features/newRun/NewRunScreen.tsx')).NewRunScreen,
  chat: async () => (await import('#renderer/features/chat/ChatScreen.tsx')).ChatScreen,
  vote: async () => (await import('#renderer/features/arena/ArenaScreen.tsx')).ArenaScreen,
  evaluate: async () =>
    (await import('#renderer/features/evaluations/EvaluationsScreen.tsx')).EvaluationsScreen,
  models,
  find: models,
  export: models,
  machine: settings,
  access: settings,
  storage: settings,
  appearance: settings,
}

/** Pages below the route of a view. */
export const pages: Readonly<Partial<Record<ViewId, Load>>> = {
  runs: async () => (await import('#renderer/features/run/RunScreen.tsx')).RunScreen,
  studies: async () => (await import('#renderer/features/studies/StudyScreen.tsx')).StudyScreen,
}
