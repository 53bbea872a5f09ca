/** Names for what the host says of rewards. */
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

/** Code as it stands in the editor. */
export interface Code {
  readonly language: CodeLanguage
  readonly code: string
}

/** Python as a config names it; the file is read when it runs. */
export interface PythonCode {
  readonly python: string
  readonly interpreter: string | null
}

/** A judge, which its settings describe. */
export interface JudgeCode {
  readonly builtIn: 'judge'
}

export type PlayedTurn = Answer<'rewards.play'>['turns'][number]
