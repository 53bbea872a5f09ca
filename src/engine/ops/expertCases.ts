/** Cases of mixtures of experts; see gradientCases.ts. */
import { product } from '../graph/shape.ts'
import { constant, type Value } from '../graph/value.ts'
import { exp } from './arithmetic.ts'
import { addByExpert, byExpert, expertRows, fromExperts, toExperts } from './experts.ts'
import { gatherElements } from './gather.ts'
import { gradientCase, integer, real } from './gradientCase.ts'
import { splitSizes } from './layout.ts'
import { matmul } from './matmul.ts'

const expertTable = constant(
  Array.from({ length: 36 }, (_, index) => Math.cos(index)),
  [12, 3],
  'float64',
)
/** Two of four experts for each of seven tokens; the third has none. */
const chosen = integer(['N', 2], [1, 0, 3, 1, 0, 3, 1, 3, 3, 0, 0, 1, 1, 3])

export const expertCases = [
  gradientCase('GatherElements', 'some of each row', {
    inputs: [real('N', 4), chosen],
    build: ([x, places]) => gatherElements(x, places),
  }),
  gradientCase('ToExperts', 'two experts for each token', {
    inputs: [real('N', 3), chosen],
    build: ([x, experts]) => toExperts(x, expertRows(experts, 4)),
  }),
  gradientCase('FromExperts', '', {
    inputs: [real(product([2, 'N']), 3), chosen],
    build: ([y, experts]) => fromExperts(y, expertRows(experts, 4)),
  }),
  gradientCase('AddByExpert', '', {
    inputs: [real(product([2, 'N']), 3), chosen],
    build: ([y, experts]) =>
      exp(addByExpert(y, splitSizes(expertTable, 0, [4, 8])[0] as Value, expertRows(experts, 4))),
  }),
  gradientCase('ByExpert', 'one of which has no rows', {
    inputs: [real(product([2, 'N']), 3), chosen],
    build: ([x, experts]) =>
      byExpert(x, expertRows(experts, 4), 3, (rows, expert) =>
        matmul(rows, splitSizes(expertTable, 0, [3, 3, 3, 3])[expert] as Value),
      ),
  }),
]
