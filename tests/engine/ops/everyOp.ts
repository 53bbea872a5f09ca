/** Every operator of the expression graph. A new op is one definition and one line here; its gradient case is then demanded by name. */
import type { Op } from '#engine/graph/value.ts'
import { addMaskOp, rotaryOp } from '#engine/ops/attention.ts'
import { integerSubOp, scatterAddOp } from '#engine/ops/blockwiseAttention.ts'
import { softplusOp } from '#engine/ops/deltaRule.ts'
import { integerDivOp } from '#engine/ops/experts.ts'
import {
  clipOp,
  geluTanhOp,
  quickGeluOp,
  reluOp,
  sigmoidOp,
  siluOp,
  softmaxOp,
  tanhOp,
} from '#engine/ops/activation.ts'
import { addOp, divOp, expOp, logOp, mulOp, negOp, sqrtOp, subOp, castOp } from '#engine/ops/arithmetic.ts'
import {
  argMaxOp,
  cumulativeSumOp,
  gatherNdOp,
  lessOrEqualOp,
  scatterElementsOp,
  whereOp,
  topKOp,
} from '#engine/ops/choice.ts'
import { gatherElementsOp, gatherOp } from '#engine/ops/gather.ts'
import {
  concatOp,
  dimensionOp,
  flattenOp,
  integerAddOp,
  integerConcatOp,
  integerEqualOp,
  reshapeOp,
  sliceOp,
  splitOp,
  transposeOp,
} from '#engine/ops/layout.ts'
import { dequantizeOp, gatherBlocksOp } from '#engine/ops/blocks.ts'
import { absOp, integerMatmulOp, quantizeOp } from '#engine/ops/frozenMatmul.ts'
import { matmulAddOp, matmulOp, matrixProductOp, quantizedMatmulOp } from '#engine/ops/matmul.ts'
import { layerNormOp, rmsNormOp } from '#engine/ops/normalization.ts'
import { expandOp, reduceMaxOp, reduceSumOp, reduceSumSquareOp, shapeOp } from '#engine/ops/reduce.ts'
import { oneHotOp } from '#engine/ops/vocabularyHead.ts'

export const ops: readonly Op[] = [
  absOp,
  addMaskOp,
  addOp,
  castOp,
  clipOp,
  concatOp,
  argMaxOp,
  cumulativeSumOp,
  dequantizeOp,
  dimensionOp,
  divOp,
  expOp,
  expandOp,
  flattenOp,
  gatherBlocksOp,
  gatherElementsOp,
  gatherNdOp,
  gatherOp,
  geluTanhOp,
  integerAddOp,
  integerConcatOp,
  integerDivOp,
  integerEqualOp,
  integerMatmulOp,
  integerSubOp,
  layerNormOp,
  lessOrEqualOp,
  logOp,
  matmulAddOp,
  matmulOp,
  matrixProductOp,
  mulOp,
  negOp,
  oneHotOp,
  quickGeluOp,
  quantizedMatmulOp,
  quantizeOp,
  reduceMaxOp,
  reduceSumOp,
  reduceSumSquareOp,
  reluOp,
  reshapeOp,
  rmsNormOp,
  rotaryOp,
  scatterAddOp,
  scatterElementsOp,
  shapeOp,
  sigmoidOp,
  siluOp,
  sliceOp,
  softmaxOp,
  softplusOp,
  splitOp,
  sqrtOp,
  subOp,
  tanhOp,
  topKOp,
  transposeOp,
  whereOp,
]

/** Groups of ops that share one hand-written gradient. */
export const composites = [
  'Attention',
  'BlockwiseAttention',
  'AddByExpert',
  'AlternativeLogits',
  'ByExpert',
  'ClampedSwiglu',
  'DeltaStates',
  'FromExperts',
  'PackRows',
  'PreciseSilu',
  'ReluSquared',
  'ShortConvolution',
  'SlicedHead',
  'StreamedHead',
  'Swiglu',
  'ToExperts',
  'UnitLowerInverse',
  'UnpackRows',
  'VocabularyHead',
] as const
