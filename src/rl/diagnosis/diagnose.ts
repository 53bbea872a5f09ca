/**
 * What is wrong with a run, in words. Pure functions over what the run has told so far. Reading guide:
 *
 *   diagnose.ts      (here) all rules on the training a run is in
 *   diagnosedRun.ts  what rules look at; facts.ts: what of the settings; stages.ts: which training that is
 *   registry.ts      the list of rules, each a file in rules/; rule.ts, collapse.ts: what they share
 *   causes.ts        which findings are only consequences of another one
 *   checks.ts        the figures that were looked at, whatever was found
 *   watch.ts         the same while a run goes on
 *   series.ts        arithmetic on stretches of numbers; rewardScale.ts: how good a reward is
 *   chance.ts        by how much rewards differ through nothing but which prompts were drawn
 *
 * A rule needs several steps to agree before it speaks: a false alarm costs more trust than a late one.
 */
import type { Diagnosis, Finding, FindingSeverity } from '#shared/diagnosis.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { withoutConsequences } from './causes.ts'
import { checksOf } from './checks.ts'
import { fallOf } from './collapse.ts'
import { type DiagnosedRun, type RunHistory, stepsOf } from './diagnosedRun.ts'
import { factsOf } from './facts.ts'
import { rules } from './registry.ts'
import { soundOriginOf } from './rule.ts'
import { lastTraining } from './stages.ts'

const gravity: Readonly<Record<FindingSeverity, number>> = { problem: 0, warning: 1, note: 2 }

/** Errors: AppError 'config/invalid' where the config names an algorithm that there is not. */
export function diagnose(config: RunConfig, history: RunHistory): Diagnosis {
  const training = lastTraining(config, history)
  const run: DiagnosedRun = { ...training.history, facts: factsOf(training.config) }
  const found = rules
    .flatMap((rule) => rule(run))
    .toSorted((a, b) => gravity[a.severity] - gravity[b.severity])
  const causes = withoutConsequences(found)
  const fall = fallOf(run)
  const { first, last } = stepsOf(run)
  return {
    stage: training.stage,
    firstStep: first,
    steps: first === 0 ? 0 : last - first + 1,
    findings: fall === null ? causes : causes.map((finding) => safely(run, fall.step, finding)),
    soundUntil: fall?.step ?? null,
    checks: checksOf(run),
  }
}

/** No change is tried on what is left of a policy that broke down after `step`: it begins from before that. */
function safely(run: DiagnosedRun, step: number, finding: Finding): Finding {
  const from = soundOriginOf(run, step)
  const proposals = finding.proposals.map((each) => (each.from === 'newest' ? { ...each, from } : each))
  return { ...finding, proposals }
}
