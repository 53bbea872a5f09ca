/** Those that decide most; the KL coefficient is called differently by some algorithms. */
export const simpleKeys: readonly (readonly string[])[] = [
  ['steps'],
  ['rollout.promptsPerStep'],
  ['rollout.groupSize'],
  ['rollout.maxNewTokens'],
  ['optimization.learningRate'],
  ['algorithm.settings.klCoefficient', 'algorithm.settings.beta'],
  ['adapter.rank'],
]
