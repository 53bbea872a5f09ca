/** What the first run points at, one thing after the other. */

export interface GuideStep {
  /** CSS selector of what is pointed at. */
  readonly target: string
  readonly tab: string
  readonly title: string
  readonly words: string
}

export const guideSteps: readonly GuideStep[] = [
  {
    target: '[data-chart]',
    tab: 'overview',
    title: 'The reward rises as the model learns',
    words:
      'The task: short exercises (add, count, sort, reverse, find the largest), answered with the bare result. Each step the model answers some of them many times; answers that score better than the others of their group become likelier. This line is the mean score.',
  },
  {
    target: 'section[aria-label="Completion"]',
    tab: 'samples',
    title: 'Every answer can be read',
    words:
      'One completion of the model with its reward and the parts it is made of. Edit a copy and it is scored again while you type.',
  },
  {
    target: '[aria-label^="Tokens;"]',
    tab: 'samples',
    title: 'Colours tell what each token did',
    words:
      'By advantage, ratio, KL, entropy or probability: where the model was sure, and what the update pushed up or down.',
  },
  {
    target: '[role="table"][aria-label="Checkpoints"]',
    tab: 'checkpoints',
    title: 'Checkpoints keep what was learned',
    words: 'Resume from one, fork it with other settings, try it in the arena, or take its adapter home.',
  },
]
