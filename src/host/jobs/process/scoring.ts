/** Completions scored by the rewards of a run, or by a judge alone. */
import { judgeFunction } from '#shared/config/judge.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import type { Reward } from '#rl/rollout/trajectory.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import type { JudgedInputs, JudgingInput } from '#host/jobs/judgeTrials.ts'
import type { ScoringInput } from '#host/jobs/textScoring.ts'
import { RunJudges } from '#host/judges/runJudges.ts'
import type { Tools } from '#host/processes/job.ts'

/** Errors: those of resolving the rewards. */
export async function scoreText(
  { config, runDirectory, cacheDirectory, consents, input }: ScoringInput,
  { say }: Tools<Reward>,
): Promise<void> {
  await using judges = new RunJudges({ folder: runDirectory, isReadOnly: true, cacheDirectory, consents })
  await using rewards = await resolveRewards(config, runDirectory, { consents, openJudge: judges.open })
  const [reward] = await scoreRewards(rewards.specs, [input], 'null')
  if (reward === undefined) throw new Error('Expected a reward, got none.')
  await say(reward)
}

/** Number of completions that are judged together. */
const judgedAtOnce = 16

/** Errors: those of opening the judge. */
export async function judgeInputs(
  { settings, inputs, cacheDirectory, consents }: JudgingInput,
  { say }: Tools<JudgedInputs>,
): Promise<void> {
  await using judges = new RunJudges({ folder: null, cacheDirectory, consents })
  const judge = judges.open(judgeFunction, settings)
  for (let from = 0; from < inputs.length; from += judgedAtOnce) {
    const began = performance.now()
    const answers = await judge.score(inputs.slice(from, from + judgedAtOnce))
    await say({ from, answers, seconds: (performance.now() - began) / 1000 })
  }
}
