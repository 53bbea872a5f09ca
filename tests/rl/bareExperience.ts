/** What there is to say of a trajectory that no limit cut off and nothing was asked about. */
export const bareExperience = {
  behaviorEntropies: null,
  truncated: false,
  lastStateValue: null,
  tokenRewards: null,
  tokenLimit: null,
  baselineReward: null,
} as const
