/** Kind of experience: `rollout` is rewards of the policy's completions, the others are given answers. */
export type ExperienceKind = 'rollout' | 'demonstrations' | 'preferences' | 'marks'
