/** The cases of the vocabulary's heads. */
import { constant, gradientCase, integer, real } from './gradientCase.ts'
import { splitSizes } from './layout.ts'
import { slicedHead } from './slicedHead.ts'
import { vocabularyHead } from './vocabularyHead.ts'

const vocabulary = 9
const frozenTable = Array.from({ length: vocabulary * 6 }, (_, index) => Math.sin(index + 1))
const targets = integer(['N'], [3, 0, 8, 8, 1, 5, 2])
const headInputs = [real('N', 6), real(vocabulary, 6), targets] as const

export const headCases = [
  gradientCase('VocabularyHead', 'log-probability', {
    dtype: 'float32',
    inputs: headInputs,
    build: ([hidden, table, ids]) => vocabularyHead({ hidden, table, targets: ids }).logprob,
  }),
  gradientCase('VocabularyHead', 'entropy', {
    inputs: headInputs,
    build: ([hidden, table, ids]) => vocabularyHead({ hidden, table, targets: ids }).entropy,
  }),
  gradientCase('VocabularyHead', 'bent logits', {
    dtype: 'float32',
    inputs: [...headInputs, constant([1], [1.25])],
    build([hidden, table, ids, factor]) {
      const bend = { cap: 1.5, factor }
      const { logprob, entropy } = vocabularyHead({ hidden, table, targets: ids, bend })
      return [logprob, entropy]
    },
  }),
  gradientCase('VocabularyHead', 'frozen table', {
    inputs: [real('N', 6), constant([vocabulary, 6], frozenTable), targets],
    build([hidden, table, ids]) {
      const { logprob, entropy } = vocabularyHead({ hidden, table, targets: ids })
      return [logprob, entropy]
    },
  }),
  gradientCase('SlicedHead', 'three slices', {
    inputs: [real('N', 6), constant([vocabulary, 6], frozenTable), targets],
    build: ([hidden, table, ids]) =>
      slicedHead({ hidden, table, slices: splitSizes(table, 0, [4, 4, 1]), targets: ids }).logprob,
  }),
  gradientCase('SlicedHead', 'bent logits', {
    dtype: 'float32',
    inputs: [real('N', 6), constant([vocabulary, 6], frozenTable), targets, constant([1], [1.25])],
    build([hidden, table, ids, factor]) {
      const bend = { cap: 1.5, factor }
      return slicedHead({ hidden, table, slices: splitSizes(table, 0, [5, 4]), targets: ids, bend }).logprob
    },
  }),
  gradientCase('VocabularyHead', 'both', {
    dtype: 'float32',
    inputs: headInputs,
    build([hidden, table, ids]) {
      const { logprob, entropy } = vocabularyHead({ hidden, table, targets: ids })
      return [logprob, entropy]
    },
  }),
]
