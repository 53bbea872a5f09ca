/** Losses as people get them wrong, each found before anything is trained, by name. */
import { expect, test } from 'vitest'
import { openLoss, traceInto } from '#host/code/resolveAlgorithms.ts'

const ratio = 'const ratio = exp(logp - oldLogp)'
const surrogate = 'min(ratio * advantages, clip(ratio, 0.8, 1.2) * advantages)'

/** `body` of `loss(…)`, and what else the definition has. */
const wrong: Readonly<Record<string, readonly [body: string, name: string | RegExp, rest?: string]>> = {
  'a sign error': [`${ratio}; return mean(${surrogate}, mask)`, 'sign'],
  'a ratio of the policy to itself': [
    `const ratio = exp(logp - logp); return -mean(${surrogate}, mask)`,
    'no-gradient',
  ],
  'a ratio that is stopped': [
    `const ratio = stopGradient(exp(logp - oldLogp)); return -mean(${surrogate}, mask)`,
    'no-gradient',
  ],
  'no log-probability at all': ['return -mean(advantages * oldLogp, mask)', 'no-gradient'],
  'padding in a mean': [`${ratio}; return -mean(${surrogate})`, 'padding'],
  'padding in a sum': [
    `${ratio}; return mean((sum(ratio, 'sequence') - sum(${surrogate}, 'sequence')) / sum(mask, 'sequence'))`,
    'padding',
    "lossWeight: 'sequences',",
  ],
  'a mean over positions first': [
    `${ratio}; return -mean(mean(${surrogate}, mask, 'position'))`,
    'micro-batches',
  ],
  'a mean over sequences that counts tokens': [
    `${ratio}; return -mean(mean(${surrogate}, mask, 'sequence'))`,
    'micro-batches',
  ],
  'a sum that is no mean': [`${ratio}; return -sum(${surrogate}, mask)`, 'micro-batches'],
  'a branch on a tensor': [
    `${ratio}; if (ratio > 1.2) return -mean(1.2 * advantages, mask); return -mean(ratio * advantages, mask)`,
    /line 1, column \d+.*condition depends on tensors/s,
  ],
  'a branch that stops the gradient': [
    `${ratio}; return -mean(where(advantages > 0, stopGradient(ratio), ratio) * advantages, mask)`,
    'severed-gradient',
  ],
  'a logarithm of the ratio': [`${ratio}; return -mean(log(ratio) * advantages, mask)`, 'not-finite'],
  'a quotient of ratios': [`${ratio}; return -mean(ratio / ratio * logp * advantages, mask)`, 'not-finite'],
  'the mean of the batch as a baseline': [
    `${ratio}; return -mean((advantages - mean(advantages, mask)) * ratio, mask)`,
    'micro-batches',
  ],
  'pairs where there are none': [
    "return -mean(chosen(sum(logp * advantages, mask, 'sequence')))",
    'row-order',
    "lossWeight: 'sequences',",
  ],
  'one value per token': [
    `${ratio}; return -ratio * advantages`,
    /one value per token; it must be one number/,
  ],
  'plain Math': [`${ratio}; return -mean(Math.round(ratio) * advantages, mask)`, /used as a plain number/],
  'an input that is none': ['return -mean(logprob * advantages, mask)', /logprob/],
  'a weight that needs the policy': [
    `${ratio}; return -mean(${surrogate}, mask)`,
    /depends on logp/,
    'lossWeight: ({ logp, mask }) => sum(logp, mask),',
  ],
}

const inputs = 'logp, oldLogp, entropy, advantages, mask, groups'

async function refusal(body: string, rest = ''): Promise<string> {
  const code = `export default defineLoss({ ${rest} loss({ ${inputs} }) { ${body} } })`
  const loss = await openLoss('mine.js', { code, language: 'js' })
  await using _ = loss.sandbox
  try {
    await traceInto(loss, {})
    return 'accepted'
  } catch (error) {
    return (error as Error).message
  }
}

test.each(Object.keys(wrong))('%s is refused by name', async (title) => {
  const [body, name, rest] = wrong[title]!
  const message = await refusal(body, rest)
  expect(message).toMatch(typeof name === 'string' ? new RegExp(`refused \\(${name}\\)`) : name)
})

/** Near misses that are right. */
const right: Readonly<Record<string, readonly [body: string, rest?: string]>> = {
  'token mean': [`${ratio}; return -mean(${surrogate}, mask)`],
  'sequence mean': [
    `${ratio}; return -mean(mean(${surrogate}, mask, 'sequence'))`,
    "lossWeight: 'sequences',",
  ],
  'a constant length': [
    `${ratio}; return -mean(sum(${surrogate}, mask, 'sequence') / 64)`,
    "lossWeight: 'sequences',",
  ],
  'a mean over turns': [
    `${ratio}; return -mean(mean(${surrogate}, mask, 'turn'))`,
    "lossWeight: ({ mask }) => sum(mean(mask, mask, 'turn')),",
  ],
  'a ratio to the policy now': ['return -mean(exp(logp - stopGradient(logp)) * advantages, mask)'],
  'a stopped weight': [`${ratio}; return -mean(stopGradient(clip(ratio, 0, 1.2)) * logp * advantages, mask)`],
  'a hard mask on the ratio': [
    `${ratio}; return -mean(where(ratio > 2 || ratio < 0.5, 0, ratio) * advantages, mask)`,
  ],
  'an entropy bonus': [`${ratio}; return -mean(${surrogate} + 0.01 * entropy, mask)`],
  'a mean by hand': [`${ratio}; return -sum(${surrogate} * mask) / sum(mask)`],
  'learning from the good alone': [`${ratio}; return -mean(where(advantages > 0, ${surrogate}, 0), mask)`],
}

test.each(Object.keys(right))('%s is accepted', async (title) => {
  const [body, rest] = right[title]!
  expect(await refusal(body, rest)).toBe('accepted')
})
