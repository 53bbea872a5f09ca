/**
 * Losses of TRL (GRPOTrainer, RLOOTrainer, DPOTrainer) and AReaL, typed in as they stand there: accepted, or refused with
 * the line to write instead, with which they are accepted.
 */
import { describe, expect, test } from 'vitest'
import { openLoss, traceInto } from '#host/code/resolveAlgorithms.ts'
import { eachOf } from '../../sweeps.ts'

const inputs = 'logp, oldLogp, refLogp, samplerLogp, entropy, advantages, mask, settings'
const settings = 'beta: 0.04, epsilon: 0.2, epsilonHigh: 0.28, tPos: 1, tNeg: 1.05, maxLength: 24'
const ratio = 'const log_ratio = logp - oldLogp; const coef_1 = exp(log_ratio);'
const clipped = `${ratio} const coef_2 = clip(coef_1, 1 - settings.epsilon, 1 + settings.epsilonHigh);
  const per_token_loss1 = coef_1 * advantages; const per_token_loss2 = coef_2 * advantages;
  let per_token_loss = -min(per_token_loss1, per_token_loss2);`
const kl = `const per_token_kl = exp(refLogp - logp) - (refLogp - logp) - 1;
  per_token_loss = per_token_loss + settings.beta * per_token_kl;`
const bySequence = "lossWeight: 'sequences',"
const byLength = "mean(sum(per_token_loss * mask, 'sequence') / max(sum(mask, 'sequence'), 1))"

/** The body of `loss`, and what else the definition has. `isRefused`: what overflows is named with its remedy. */
const literal: Readonly<Record<string, readonly [body: string, rest?: string, isRefused?: true]>> = {
  grpo: [`${clipped} return ${byLength}`, bySequence],
  'grpo with KL': [`${clipped} ${kl} return ${byLength}`, bySequence, true],
  'grpo with the k3 estimator weighted by the ratio': [
    `${clipped} const per_token_kl = (exp(refLogp - logp) - (refLogp - logp) - 1) * coef_1;
     per_token_loss = per_token_loss + settings.beta * per_token_kl; return ${byLength}`,
    bySequence,
    true,
  ],
  bnpo: [`${clipped} return sum(per_token_loss * mask) / max(sum(mask), 1)`],
  dapo: [`${clipped} return sum(per_token_loss * mask) / sum(mask)`],
  dr_grpo: [
    `${clipped} return mean(sum(per_token_loss * mask, 'sequence') / settings.maxLength)`,
    bySequence,
  ],
  cispo: [
    `${ratio} const clamped_ratios = stopGradient(min(coef_1, 1 + settings.epsilonHigh));
     const per_token_loss = -clamped_ratios * advantages * logp; return sum(per_token_loss * mask) / sum(mask)`,
  ],
  sapo: [
    `${ratio} const temperatures = where(advantages > 0, settings.tPos, settings.tNeg);
     const soft_coef_1 = sigmoid(temperatures * (coef_1 - 1)) * 4 / temperatures;
     const per_token_loss = -soft_coef_1 * advantages; return ${byLength}`,
    bySequence,
  ],
  gspo: [
    `const log_ratio = logp - oldLogp;
     const log_importance_weights = sum(log_ratio * mask, 'sequence') / max(sum(mask, 'sequence'), 1);
     const coef_1 = exp(log_importance_weights); const coef_2 = clip(coef_1, 1 - 3e-4, 1 + 4e-4);
     const per_token_loss = -min(coef_1 * advantages, coef_2 * advantages); return ${byLength}`,
    bySequence,
  ],
  'rloo with KL': [
    `const old_logps = sum(oldLogp * mask, 'sequence'); const logps = sum(logp * mask, 'sequence');
     const coef_1 = exp(logps - old_logps);
     const coef_2 = clip(coef_1, 1 - settings.epsilon, 1 + settings.epsilonHigh);
     const A = last(advantages, mask, 'sequence') - settings.beta * sum((oldLogp - refLogp) * mask, 'sequence');
     return mean(-min(coef_1 * A, coef_2 * A))`,
    `${bySequence} advantages: 'rloo',`,
  ],
  ipo: [
    `const logratios = sum((logp - refLogp) * mask, 'sequence') / sum(mask, 'sequence');
     const delta = chosen(logratios) - rejected(logratios); return mean((delta - 1 / (2 * settings.beta)) ** 2)`,
    `${bySequence} experience: 'preferences',`,
  ],
  hinge: [
    `const logratios = sum((logp - refLogp) * mask, 'sequence');
     const delta = chosen(logratios) - rejected(logratios); return mean(max(1 - settings.beta * delta, 0))`,
    `${bySequence} experience: 'preferences',`,
  ],
  'AReaL’s decoupled PPO': [
    `const ratio = where(mask, exp(logp - oldLogp), 0);
     const clipped_ratio = clip(ratio, 1 - settings.epsilon, 1 + settings.epsilon);
     const pg_loss = max(-advantages * ratio, -advantages * clipped_ratio);
     const behav_imp_weight = exp(oldLogp - samplerLogp);
     return sum(where(mask, pg_loss * min(behav_imp_weight, 5), 0)) / sum(mask)`,
  ],
  'AReaL’s REINFORCE': ['return sum(where(mask, -logp * advantages, 0)) / sum(mask)'],
}

async function answerTo(
  body: string,
  rest = '',
  given: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const code = `export default defineLoss({ settings: { ${settings} }, ${rest} loss({ ${inputs} }) { ${body} } })`
  const loss = await openLoss('mine.js', { code, language: 'js' })
  await using _ = loss.sandbox
  try {
    await traceInto(loss, given)
    return 'accepted'
  } catch (error) {
    return (error as Error).message
  }
}

describe('typed in literally', () => {
  const isAlways = (name: string) => name === 'grpo with the k3 estimator weighted by the ratio' // of all terms
  eachOf(test, { rows: Object.keys(literal), isAlways }, '%s', async (name) => {
    const [body, rest, isRefused = false] = literal[name]!
    const answer = await answerTo(body, rest)
    if (!isRefused) {
      expect(answer).toBe('accepted')
      return
    }
    expect(answer).toMatch(
      /refused \(not-finite\).* exp\(refLogp - logp\) overflows: write clip\(.*\) for .*\.$/s,
    )
    const [, better = '', written = ''] = /write (.*) for (.*)\.$/.exec(answer) ?? []
    expect(await answerTo(body.replaceAll(written, better), rest)).toBe('accepted')
  })

  test('a term whose coefficient is 0 refuses nothing, however large the rest of it is', async () => {
    for (const name of ['grpo with KL', 'grpo with the k3 estimator weighted by the ratio']) {
      const [body, rest] = literal[name]!
      expect(await answerTo(body, rest, { beta: 0 })).toBe('accepted')
    }
  })
})

test.each([
  [
    'exp',
    `${ratio} return -mean((coef_1 + exp(refLogp - logp)) * advantages, mask)`,
    'write clip(refLogp - logp, -30, 30) for refLogp - logp',
  ],
  [
    'log',
    `${ratio} return -mean(log(coef_1) * advantages, mask)`,
    'write log(max(exp(logp - oldLogp), 1e-8))',
  ],
  ['/', `${ratio} return -mean(1 / coef_1 * advantages, mask)`, 'write (1) / max(exp(logp - oldLogp), 1e-8)'],
  [
    'sqrt',
    `${ratio} return -mean(sqrt(coef_1) * advantages, mask)`,
    'write sqrt(max(exp(logp - oldLogp), 1e-12))',
  ],
  [
    'exp of a difference with its sign turned',
    'return -mean(exp(-(logp - oldLogp)) * advantages, mask)',
    'exp(-(logp - oldLogp)) overflows: write clip(-(logp - oldLogp), -30, 30) for -(logp - oldLogp)',
  ],
  [
    '**',
    `${ratio} return -mean(coef_1 ** (0 - settings.epsilon) * advantages, mask)`,
    'write max(exp(logp - oldLogp), 1e-8) ** (',
  ],
])('what is not finite is named with what to write: %s', async (_, body, advice) => {
  const answer = await answerTo(body)
  expect(answer).toContain('refused (not-finite)')
  expect(answer).toContain(advice)
})
