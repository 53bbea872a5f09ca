/** Kinds of values that many settings of a run have. */
import { z } from 'zod'

export const wholeNumber = (minimum: number, maximum: number) => z.int().min(minimum).max(maximum)
export const share = z.number().min(0).max(1)
export const path = z.string().min(1)
