/** Limits are what could still be meant by anybody; what is unwise within them is said by rl/training/configWarnings.ts. */

export const mostSteps = 10_000_000
export const mostTokens = 10_000_000
export const mostRows = 1_000_000_000
/** What no other number is beyond, either way, where its setting does not say less. */
export const mostOfASetting = 1_000_000
