/** Every operator of the expression graph. A new op is one definition and one line here; its gradient case is then demanded by name. */
import type { Op } from '../graph/value.ts'
import { addMaskOp } from './addMask.ts'
import { geluTanhOp, sigmoidOp, siluOp, softmaxOp, tanhOp } from './activation.ts'
import { addOp, divOp, expOp, logOp, mulOp, negOp, sqrtOp, subOp } from './arithmetic.ts'
import { castOp } from './cast.ts'
import { argMaxOp, cumulativeSumOp, gatherNdOp, lessOrEqualOp } from './choice.ts'
import { dequantizeOp } from './dequantize.ts'
import { gatherElementsOp, gatherOp } from './gather.ts'
import {
  concatOp,
  dimensionOp,
  integerAddOp,
  integerConcatOp,
  reshapeOp,
  sliceOp,
  splitOp,
  transposeOp,
} from './layout.ts'
import { absOp, integerMatmulOp } from './integerMatmul.ts'
import { matmulAddOp, matmulOp, matrixProductOp, quantizedMatmulOp } from './matmul.ts'
import { layerNormOp, rmsNormOp } from './normalization.ts'
import { expandOp, reduceMaxOp, reduceSumOp, reduceSumSquareOp, shapeOp } from './reduce.ts'
import { rotaryOp } from './rotary.ts'
import { oneHotOp } from './vocabularyHead.ts'

export const ops: readonly Op[] = [
  absOp,
  addMaskOp,
  addOp,
  castOp,
  concatOp,
  argMaxOp,
  cumulativeSumOp,
  dequantizeOp,
  dimensionOp,
  divOp,
  expOp,
  expandOp,
  gatherElementsOp,
  gatherNdOp,
  gatherOp,
  geluTanhOp,
  integerAddOp,
  integerConcatOp,
  integerMatmulOp,
  layerNormOp,
  lessOrEqualOp,
  logOp,
  matmulAddOp,
  matmulOp,
  matrixProductOp,
  mulOp,
  negOp,
  oneHotOp,
  quantizedMatmulOp,
  reduceMaxOp,
  reduceSumOp,
  reduceSumSquareOp,
  reshapeOp,
  rmsNormOp,
  rotaryOp,
  shapeOp,
  sigmoidOp,
  siluOp,
  sliceOp,
  softmaxOp,
  splitOp,
  sqrtOp,
  subOp,
  tanhOp,
  transposeOp,
]

/** Groups of ops that share one hand-written gradient. */
export const composites = [
  'Attention',
  'PackRows',
  'SlicedHead',
  'Swiglu',
  'UnpackRows',
  'VocabularyHead',
] as const
