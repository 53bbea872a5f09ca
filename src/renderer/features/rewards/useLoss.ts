/** Analysis of a loss in the editor: its check, settings and curves. */
import { useMemo } from 'react'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useSetting } from '#renderer/client/settings.ts'
import { useSettled } from '#renderer/client/settled.ts'
import type { CodeFailurePlace } from '#renderer/editor/problemLines.ts'
import type { SettingField } from '#shared/config/fields.ts'
import { lossCheckNames } from '#shared/losses.ts'
import type { EditorStatus } from './Workbench.tsx'
import { failureWords } from './results.ts'
import type { Code } from '#renderer/parts/rewardTypes.ts'

export type LossCheck = Answer<'losses.check'>
export type LossDrawing = Exclude<Answer<'losses.draw'>, { problem: unknown }>
type Values = Readonly<Record<string, unknown>>

const settleMs = 400

export const settingName = ({ key }: SettingField): string => key.slice('algorithm.settings.'.length)

const noFields: readonly SettingField[] = []
const noValues: Values = {}

/** Analyses code shortly after its last change. `key`: of the loss in the library. */
export function useLoss(key: string, code: Code) {
  const [stored, setStored] = useSetting<Values>(`losses.values.${key.replaceAll('_', '-')}`, noValues)
  const [axis, setAxis] = useSetting<LossAxisChoice>('losses.axis', defaultAxis)
  const settled = useSettled(code, settleMs)
  const asked = { language: settled.language, code: settled.code }
  const enabled = settled.code.trim() !== ''
  // Values of settings that no longer exist in the code would be refused.
  const said = useAnswer('losses.check', { code: asked }, { enabled, keep: true }).data
  const fields = said?.description?.settings ?? noFields
  const values = useMemo(() => {
    const names = new Set(fields.map(settingName))
    return Object.fromEntries(Object.entries(stored).filter(([name]) => names.has(name)))
  }, [stored, fields])
  const settings = useSettled(values, 120)
  const isUsual = Object.keys(settings).length === 0
  const tried = useAnswer(
    'losses.check',
    { code: asked, settings },
    { enabled: enabled && !isUsual, keep: true },
  )
  const check = isUsual ? said : tried.data
  const experience = said?.description?.experience ?? 'rollout'
  const range = axis[experience]
  const ends = range === undefined ? {} : { range: [range[0], range[1]] as [number, number] }
  const drawn = useAnswer(
    'losses.draw',
    { code: asked, settings, compare: axis.compare, ...ends },
    { enabled: enabled && check?.recorded != null, keep: true },
  )
  return {
    check,
    fields,
    values,
    setValues: setStored,
    axis,
    setAxis,
    experience,
    ...drawingOf(drawn),
    isStale: settled.code !== code.code || settled.language !== code.language,
    status: statusOf(check),
    problems: useMemo(() => placesOf(check), [check]),
  }
}

const drawingOf = ({ data, error }: { data: Answer<'losses.draw'> | undefined; error: Error | null }) => ({
  drawing: data !== undefined && !('problem' in data) ? data : null,
  error,
})

export type LossState = ReturnType<typeof useLoss>

/** Comparison and range of the plots, the same for all losses. */
export interface LossAxisChoice {
  readonly compare: string | null
  readonly rollout?: readonly [number, number]
  readonly preferences?: readonly [number, number]
  readonly demonstrations?: readonly [number, number]
}

const defaultAxis: LossAxisChoice = { compare: null }

function placesOf(check: LossCheck | undefined): CodeFailurePlace[] {
  const problem = check?.problem
  if (problem == null || problem.line === null) return []
  return [{ line: problem.line, column: problem.column, sentence: problem.message }]
}

function statusOf(check: LossCheck | undefined): EditorStatus | undefined {
  if (check === undefined) return undefined
  const { problem, description, recorded, checks } = check
  if (problem !== null) {
    const what = description === null ? 'Does not load.' : 'Cannot be traced.'
    return { tone: 'bad', words: `${what} ${failureWords(problem)}` }
  }
  const [first, ...others] = faultsOf(check)
  if (first !== undefined) {
    const more = others.length === 0 ? '' : ` and ${String(others.length)} more`
    return { tone: 'bad', words: `No run would start with it (${first.name}${more}). ${first.fault.message}` }
  }
  const all = checks.length === lossCheckNames.length ? 'all checks pass' : 'not all checked'
  return { tone: 'good', words: `Loads. ${String(recorded?.operations ?? 0)} operations, ${all}` }
}

type Fault = NonNullable<LossCheck['checks'][number]['fault']>

export const faultsOf = (check: LossCheck | undefined): { readonly name: string; readonly fault: Fault }[] =>
  (check?.checks ?? []).flatMap(({ name, fault }) => (fault === null ? [] : [{ name, fault }]))
