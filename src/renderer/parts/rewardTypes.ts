/** Types of the host's answers about rewards. */
import type { Answer } from '#renderer/client/api.tsx'

export type Reward = Answer<'rewards.list'>[number]
export type RewardVersion = Answer<'rewards.versions'>[number]
export type GalleryEntry = Answer<'rewards.gallery'>[number]
export type TestCase = Answer<'rewards.tests'>[number]
export type TestResult = Answer<'rewards.runTests'>[number]
export type DryRunItem = Answer<'rewards.dryRun'>
export type Score = Extract<DryRunItem, { score: unknown }>['score']
export type CodeFailure = Score['failures'][string]
export type CodeCheck = Answer<'rewards.check'>
export type BatteryReport = Answer<'rewards.battery'>
export type RewardKind = Reward['kind']
export type CodeLanguage = RewardVersion['language']
export type DataSet = Answer<'datasets.list'>[number]
export type DataVersion = DataSet['versions'][number]
export type DataColumn = DataVersion['columns'][number]
export type DataRow = Readonly<Record<string, unknown>>

export type SettingValue = string | number | boolean
export type SettingValues = Readonly<Record<string, SettingValue>>

export interface Code {
  readonly language: CodeLanguage
  readonly code: string
}

/** Python as named in configs; the file is read at run time. */
export interface PythonCode {
  readonly python: string
  readonly interpreter: string | null
}

export interface JudgeCode {
  readonly builtIn: 'judge'
}

export type PlayedTurn = Answer<'rewards.play'>['turns'][number]
