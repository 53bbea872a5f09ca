/** Cases of linear attention; see gradientCases.ts. */
import { sigmoid } from './activation.ts'
import { exp, mul, neg } from './arithmetic.ts'
import {
  decayingSum,
  gatedDeltaRule,
  recurrentStep,
  softplus,
  unitLowerInverse,
  unitRows,
} from './deltaRule.ts'
import { constant, gradientCase, integer, real } from './gradientCase.ts'
import { shortConvolution } from './shortConvolution.ts'

const strictlyLower = Array.from({ length: 16 }, (_, index) => Number(index % 4 < Math.floor(index / 4)))

export const deltaCases = [
  gradientCase('ShortConvolution', 'of three positions', {
    inputs: [real('N', 4), real('N', 4), real('N', 4), real(4, 1, 3)],
    build: ([own, one, two, weight]) => shortConvolution([own, one, two], weight),
  }),
  gradientCase('Softplus', '', { dtype: 'float32', inputs: [real('N', 3)], build: ([x]) => softplus(x) }),
  gradientCase('Sqrt', 'rows of length 1', { inputs: [real('N', 3)], build: ([x]) => unitRows(x, 1e-2) }),
  gradientCase('UnitLowerInverse', '', {
    inputs: [real('M', 4, 4), constant([4, 4], strictlyLower)],
    build: ([x, mask]) => unitLowerInverse(mul(x, mask)),
  }),
  gradientCase('DeltaStates', 'the gated delta rule in three chunks of four', {
    inputs: [
      real('M', 'B', 4, 2),
      real('M', 'B', 4, 2),
      real('M', 'B', 4, 3),
      real('M', 'B', 4, 1),
      real('M', 'B', 4, 1),
      real('B', 2, 3),
      integer(['M'], [2, 1, 0]),
    ],
    build([queries, keys, values, decays, strengths, initial, backwards]) {
      const { mixed, last } = gatedDeltaRule({
        queries,
        keys: unitRows(keys, 0.1),
        values,
        decays: neg(exp(decays)),
        strengths: sigmoid(strengths),
        initial,
        backwards,
      })
      return [mixed, last]
    },
  }),
  gradientCase('DeltaStates', 'a state space in three chunks of four', {
    inputs: [
      real('M', 'B', 4, 2),
      real('M', 'B', 4, 2),
      real('M', 'B', 4, 3),
      real('M', 'B', 4, 1),
      real('B', 2, 3),
      integer(['M'], [2, 1, 0]),
    ],
    build([queries, keys, values, decays, initial, backwards]) {
      const rates = neg(exp(decays))
      const { mixed, last } = decayingSum({ queries, keys, values, decays: rates, initial, backwards })
      return [mixed, last]
    },
  }),
  gradientCase('Mul', 'one position of the gated delta rule', {
    inputs: [
      real('B', 1, 2),
      real('B', 1, 2),
      real('B', 1, 3),
      real('B', 1, 1),
      real('B', 1, 1),
      real('B', 2, 3),
    ],
    build([queries, keys, values, decays, strengths, initial]) {
      const rates = neg(exp(decays))
      const { mixed, last } = recurrentStep({ queries, keys, values, decays: rates, strengths, initial })
      return [mixed, last]
    },
  }),
]
