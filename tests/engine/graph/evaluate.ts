import type { Value } from '#engine/graph/value.ts'
import type { Feed } from '#engine/runtime/session.ts'
import { Session, floats } from '#engine/runtime/session.ts'

type Given = readonly number[] | { readonly data: readonly number[]; readonly dims: readonly number[] } | Feed

const feedOf = (given: Given): Feed => {
  if ('location' in given) return given
  return 'dims' in given
    ? floats(Float32Array.from(given.data), given.dims)
    : floats(Float32Array.from(given), [given.length])
}

/** Computes expressions once on the CPU; plain lists are f32 vectors. */
export async function evaluate(
  program: Readonly<Record<string, Value>>,
  inputs: Readonly<Record<string, Given>> = {},
): Promise<Record<string, Float32Array>> {
  using session = await Session.create({
    name: 'test',
    program,
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
    purpose: 'learn',
  })
  return await session.run(
    Object.fromEntries(Object.entries(inputs).map(([name, given]) => [name, feedOf(given)])),
  )
}
