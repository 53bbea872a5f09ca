import { describe, expect, test } from 'vitest'
import { randomStream } from '#shared/random.ts'
import type { Completion, GenerateOptions, GenerationRequest, SamplingOptions } from '#engine/policy.ts'
import { generateCompletions } from '#engine/runtime/generation/generate.ts'
import { HostDecoder } from '#engine/runtime/generation/hostDecoder.ts'
import { Batches } from '#host/serving/batches.ts'
import { optionsOf, requestsOf } from '../../engine/runtime/generation/alone.ts'
import { TinyModel } from '../../engine/runtime/generation/tinyModel.ts'

type Name = 'base' | 'actor'

/** A real generation loop on a tiny model; `passes` has the adapter of each pass. */
function tinyPolicy(options: { readonly failAt?: number } = {}) {
  const passes: { role: string; rows: number; length: number }[] = []
  let open = 0
  const model = new TinyModel(4)
  const step = {
    states: model.states,
    vocabSize: model.vocabSize,
    choiceWidth: model.choiceWidth,
    async run(pass: Parameters<TinyModel['run']>[0]) {
      passes.push({ role: pass.role, rows: pass.rows, length: pass.length })
      if (passes.length === options.failAt) throw new Error('The device is gone.')
      expect(open++, 'passes at a time').toBe(0)
      await new Promise((resolve) => setTimeout(resolve, 1))
      open--
      return model.run(pass)
    },
  }
  return {
    passes,
    model,
    async *generate(
      requests: readonly GenerationRequest[],
      own: GenerateOptions<Name>,
    ): AsyncGenerator<Completion> {
      yield* generateCompletions(new HostDecoder(step), requests, {
        ...optionsOf(),
        ...own,
        maxRows: 8,
      })
    },
  }
}

const sampling: SamplingOptions = { ...optionsOf().sampling, maxNewTokens: 20 }

function submit(batches: Batches<Name>, role: Name, at: number, signal?: AbortSignal) {
  const [request] = requestsOf([3 + at], 1, 11)
  const ids: number[] = []
  const completions: Completion[] = []
  const wanted = { ...request!, streams: [randomStream(at)], sampling, ...(signal && { signal }) }
  const done = batches.generate(role, wanted, {
    onToken: ({ id }) => ids.push(id),
    onCompletion: (completion) => completions.push(completion),
  })
  return { done, ids, completions }
}

describe('batches', () => {
  test('of several adapters take turns; requests for one share its passes', async () => {
    const policy = tinyPolicy()
    const batches = new Batches<Name>(policy, () => '')
    const asked = (['base', 'actor', 'base', 'actor', 'base'] as const).map((role, at) =>
      submit(batches, role, at),
    )
    await Promise.all(asked.map(({ done }) => done))
    for (const { ids, completions } of asked) {
      expect(completions).toHaveLength(1)
      expect(ids).toEqual([...completions[0]!.ids])
      expect(ids).toHaveLength(20)
    }
    const decodes = policy.passes.filter(({ length }) => length === 1)
    expect(decodes.filter(({ role }) => role === 'base').map(({ rows }) => rows)).toEqual(Array(19).fill(3))
    expect(decodes.filter(({ role }) => role === 'actor').map(({ rows }) => rows)).toEqual(Array(19).fill(2))
    const changes = decodes.filter(({ role }, i) => i > 0 && role !== decodes[i - 1]!.role)
    expect(changes.length).toBeGreaterThan(30)
  })

  test('are joined by requests that come later, and begin anew when all was done', async () => {
    const policy = tinyPolicy()
    const batches = new Batches<Name>(policy, () => '')
    const first = submit(batches, 'base', 0)
    while (first.ids.length < 5) await new Promise((resolve) => setTimeout(resolve, 1))
    const second = submit(batches, 'base', 1)
    await Promise.all([first.done, second.done])
    expect(policy.passes.some(({ rows, length }) => length === 1 && rows === 2)).toBe(true)
    await batches.drained()
    const third = submit(batches, 'base', 1)
    await third.done
    expect(third.ids).toEqual(second.ids)
    await batches.drained()
  })

  test('give rows back when a request is cancelled, and let it go at once', async () => {
    const policy = tinyPolicy()
    const batches = new Batches<Name>(policy, () => '')
    const leaving = new AbortController()
    const [left, kept] = [submit(batches, 'base', 0, leaving.signal), submit(batches, 'base', 1)]
    while (left.ids.length < 5) await new Promise((resolve) => setTimeout(resolve, 1))
    leaving.abort()
    await left.done
    expect(left.completions).toEqual([])
    await kept.done
    expect(kept.ids).toHaveLength(20)
    expect(left.ids.length).toBeLessThan(8)
    expect(policy.passes.at(-1)?.rows).toBe(1)
    await submit(batches, 'base', 2, AbortSignal.abort()).done
    await batches.drained()
  })

  test('fail together, and the next one works', async () => {
    const policy = tinyPolicy({ failAt: 7 })
    const batches = new Batches<Name>(policy, () => '')
    const asked = [submit(batches, 'base', 0), submit(batches, 'base', 1)]
    for (const { done } of asked) await expect(done).rejects.toThrow('The device is gone.')
    await batches.drained()
    const next = submit(batches, 'base', 0)
    await next.done
    expect(next.ids).toHaveLength(20)
  })
})
