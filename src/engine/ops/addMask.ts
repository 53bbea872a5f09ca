import type { Value } from '../graph/value.ts'
import { apply } from '../graph/value.ts'
import { defineOp, onlyCotangent } from './define.ts'

/** What a mask adds to the score of what is not seen. Finite: a row of minus infinities would make a softmax NaN. */
export const HIDDEN = -1e9

export const addMaskOp = defineOp('AddMask', ({ cotangents }) => [onlyCotangent(cotangents), null], {
  type: 'Add',
})
/** Scores plus a mask that broadcasts to them at run time, whatever its symbols; a mask is never learned. */
export const addMask = (scores: Value, mask: Value): Value =>
  apply(addMaskOp, [scores, mask], {}, [scores])[0] as Value
