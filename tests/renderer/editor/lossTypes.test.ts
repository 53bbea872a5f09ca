import { expect, test } from 'vitest'
import type { AdvantageRow } from '#shared/lossLanguage.ts'
import { lossTypes } from '#renderer/editor/types/lossTypes.ts'
import { builtInAlgorithm } from '#rl/algorithms/registry.ts'
import { writtenAlgorithm } from '#rl/losses/written.ts'
import { bareExperience } from '../../rl/bareExperience.ts'

test('the editor knows every field that the advantages of a loss are given, and no other', async () => {
  const [, declared = ''] = /interface AdvantageRow \{([^}]*)\}/.exec(lossTypes) ?? []
  const names = [...declared.matchAll(/readonly (\w+)\??:/g)].map(([, name]) => name)
  let given: readonly AdvantageRow[] = []
  const algorithm = writtenAlgorithm(
    {
      id: 'mine.js',
      description: { experience: 'rollout', topK: 32, needs: [], like: null, settings: {} },
      programOf: () => ({ nodes: [], terms: [], metrics: {} }),
      advantagesOf(rows) {
        given = rows
        return Promise.resolve(rows.map(() => 0))
      },
    },
    builtInAlgorithm,
  )
  const row = {
    group: 0,
    actionMask: Uint8Array.of(0, 1),
    turnIds: null,
    turnRewards: [1],
    ...bareExperience,
    behaviorLogprobs: null,
    referenceLogprobs: null,
    behaviorValues: null,
  }
  await algorithm.configure({}).advantages([row])
  expect(names.sort()).toEqual(Object.keys(given[0] ?? {}).sort())
})
