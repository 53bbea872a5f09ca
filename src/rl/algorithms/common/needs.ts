import type { Needs } from '../types.ts'

/** What an algorithm needs that needs nothing; others say where they differ. */
export const noNeeds: Needs = {
  behavior: false,
  ratio: false,
  behaviorEntropies: false,
  reference: false,
  values: false,
  greedyBaseline: false,
  entropyGradient: false,
  unit: 1,
}
