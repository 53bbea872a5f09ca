/** What a list of runs shows of a config. */
import { z } from 'zod'
import { count } from '#shared/api/common.ts'

const facts = z.object({
  name: z.string().nullable().catch(null),
  model: z.string().catch(''),
  seed: z.int().catch(0),
  steps: count.nullable().catch(null),
  algorithm: z.object({ id: z.string() }).catch({ id: '' }),
})

export interface RunFacts {
  readonly name: string | null
  readonly model: string
  readonly seed: number
  readonly steps: number | null
  readonly algorithm: string
}

/** Of the text of a config.json; what is missing or of another type is empty. */
export function factsOf(config: string): RunFacts {
  const parsed = facts.safeParse(parse(config)).data
  if (!parsed) return { name: null, model: '', seed: 0, steps: null, algorithm: '' }
  return { ...parsed, algorithm: parsed.algorithm.id }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
