/** What steps with the model of the draft took on this machine: in the last check, else in the newest run with it. */
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import { measuredByCheck, measuredByRun, type Measured } from './presetTime.ts'
import { runTitle } from '#renderer/client/words.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useNewRunStore } from './useDraft.ts'
import { readConfig } from '#renderer/features/run/useRun.ts'
import { useRuns } from '#renderer/client/runs.ts'

/** Its time is taken from so many steps. */
const measuredSteps = 40

interface Asked {
  readonly config: JsonObject
  readonly models: readonly { readonly name: string; readonly directory: string }[]
  readonly algorithm: AlgorithmEntry | undefined
  /** Of the setting as it stands or is by default, in a config. */
  readonly effective: (config: JsonObject, key: string) => unknown
}

/** null: nothing was measured. */
export function useMeasured(asked: Asked): Measured | null {
  const checked = useNewRunStore((state) => state.checked)
  const byRun = useMeasuredByRun(asked)
  if (checked === null) return byRun
  const { config, effective } = asked
  const [tried] = JSON.parse(checked.part) as readonly [JsonObject]
  if (tried['model'] !== config['model']) return byRun
  const completions =
    Number(effective(tried, 'rollout.promptsPerStep')) *
    Number(effective(tried, 'rollout.groupSize') ?? defaultSize(asked))
  return measuredByCheck(checked.result, completions) ?? byRun
}

function useMeasuredByRun(asked: Asked): Measured | null {
  const { config, models } = asked
  const { runs } = useRuns()
  // A run names it by its folder, a draft by its name as well.
  const own = models.find(({ name, directory }) => [name, directory].includes(String(config['model'])))
  const run = runs
    .filter(({ model, step, reward }) => model === own?.directory && step > 2 && reward !== null)
    .sort((a, b) => b.createdAt - a.createdAt)[0]
  const runId = run?.id ?? ''
  const options = { enabled: run !== undefined }
  const { data: table } = useAnswer('metrics.table', { runId, limit: measuredSteps }, options)
  const { data: record } = useAnswer('runs.get', { runId }, options)
  const settings = readConfig(record?.config)
  if (run === undefined || table === undefined || settings === null) return null
  return measuredByRun(table, settings, {
    groupSize: defaultSize(asked),
    source: `the run “${runTitle(run)}”`,
  })
}

const defaultSize = ({ algorithm }: Asked): number => algorithm?.groupSize.default ?? 1
