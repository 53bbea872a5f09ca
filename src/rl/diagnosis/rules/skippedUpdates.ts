import type { Finding } from '#shared/diagnosis.ts'
import { type DiagnosedRun, seriesOf, stepsOf } from '../diagnosedRun.ts'
import { restartSlower, tryTheSelftest } from '../rule.ts'
import { evidence, totalOf } from '../series.ts'

/** Of the last steps. */
const recent = 20
/** As many skipped updates among them are no accident. */
const several = 3

/** Updates whose numbers could not be right were left out, as `optimization.unsoundUpdates` asks. */
export function skippedUpdates(run: DiagnosedRun): Finding[] {
  const { last } = stepsOf(run)
  const skipped = seriesOf(run, 'update/skipped').filter(
    ({ step, value }) => step > last - recent && value > 0,
  )
  const first = skipped[0]
  if (first === undefined) return []
  const count = totalOf(skipped)
  return [
    {
      id: 'updates-skipped',
      severity: count >= several ? 'problem' : 'warning',
      words: `${count === 1 ? 'An update was' : `${count} updates were`} skipped since step ${first.step}, because the numbers could not be right; the log says which. The adapter is as it was before them.`,
      evidence: [evidence('update/skipped', skipped, count)],
      proposals: [tryTheSelftest, restartSlower(run, first.step - 1)],
    },
  ]
}
