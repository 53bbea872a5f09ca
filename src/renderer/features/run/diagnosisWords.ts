/** What was looked at and that all is well, in words. */
import type { Check, Diagnosis } from '#shared/diagnosis.ts'
import { formatNumber } from '#renderer/client/format.ts'

export const stepsWords = (from: number, to: number): string =>
  from === to ? `step ${String(from)}` : `steps ${String(from)}–${String(to)}`

export function healthyWords({
  stage,
  firstStep,
  steps,
}: Pick<Diagnosis, 'stage' | 'firstStep' | 'steps'>): string {
  if (steps === 0) return 'No step has ended yet, so there is nothing to judge.'
  const where = stage === null ? '' : ` of stage ${String(stage + 1)}`
  return `Nothing looks wrong in ${stepsWords(firstStep, firstStep + steps - 1)}${where}.`
}

const units: Readonly<Record<Check['unit'], (value: number) => string>> = {
  share: (value) => `${formatNumber(100 * value)} %`,
  nats: (value) => `${formatNumber(value)} nats`,
  reward: formatNumber,
  times: (value) => `${formatNumber(value)} ×`,
  count: formatNumber,
}

/** The figure of a check, with how it was at the start where that counts. */
export const checkFigure = ({ before, value, unit }: Check): string =>
  before === null ? units[unit](value) : `${units[unit](before)} → ${units[unit](value)}`
