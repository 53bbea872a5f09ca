/** Units of the importance ratio: which action tokens share one. */
import { choiceSetting } from '#shared/settings.ts'
import type { Experience } from '../types.ts'

export type RatioLevel = 'token' | 'turn' | 'trajectory'

export const ratioLevelSetting = choiceSetting(
  ['token', 'turn', 'trajectory'],
  'token',
  'Which tokens share one importance ratio.',
)

export const turnRatioPoolingSetting = choiceSetting(
  ['sum', 'mean'],
  'sum',
  'How the log-ratios of a turn’s tokens become one.',
)

/** A trajectory's log-ratios are averaged, whatever is done to a turn's. */
export const poolingAt = (level: RatioLevel, turnRatioPooling: 'sum' | 'mean'): 'sum' | 'mean' =>
  level === 'turn' ? turnRatioPooling : 'mean'

/** Positions of each unit, in order; a row without action tokens has none. */
export function unitsOf(row: Pick<Experience, 'actionMask' | 'turnIds'>, level: RatioLevel): number[][] {
  const units = new Map<number, number[]>()
  row.actionMask.forEach((isAction, t) => {
    if (isAction !== 1) return
    const key = unitKey(row, level, t)
    const unit = units.get(key)
    if (unit) unit.push(t)
    else units.set(key, [t])
  })
  return [...units.values()]
}

function unitKey({ turnIds }: Pick<Experience, 'turnIds'>, level: RatioLevel, t: number): number {
  if (level === 'token') return t
  return level === 'turn' ? (turnIds?.[t] ?? 0) : 0
}
