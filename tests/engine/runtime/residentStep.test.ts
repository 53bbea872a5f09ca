/** Many tokens in one run: what the graph proposes is checked by the host, which goes on where the two agree. */
import { expect, test } from 'vitest'
import type { GenerationRequest } from '#engine/policy.ts'
import { AdapterParameters } from '#engine/runtime/adapterParameters.ts'
import { frozenTensors } from '#engine/models/frozenWeights.ts'
import { heldWeights } from '#engine/models/heldTensors.ts'
import { HostParameters } from '#engine/runtime/parameterHome.ts'
import type { DecodeStep } from '#engine/runtime/generation/decoder.ts'
import { ResidentPrograms } from '#engine/runtime/programs.ts'
import { residentDefinitions, ResidentStep } from '#engine/runtime/residentStep.ts'
import { randomStream } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { generated } from './generation/alone.ts'
import { largestDifference } from './differences.ts'
import { oneThread, randomAdapter, randomSequence, tinyLora, tinySource, unfiltered } from './tinyModel.ts'

const folder = temporaryFolder()
const requests: GenerationRequest[] = [3, 17, 8].map((length, index) => ({
  promptIds: randomSequence(258, length + 1, index).ids.slice(0, length),
  streams: [0, 1].map((sample) => randomStream(7, index, sample)),
}))

async function openStep() {
  const source = await tinySource(folder)
  const weights = heldWeights(source, frozenTensors(source))
  const programs = new ResidentPrograms(
    residentDefinitions(source, tinyLora, weights, 'loop'),
    oneThread,
    'learn',
  )
  const parameters = new HostParameters(source.config, tinyLora)
  const adapter = new AdapterParameters(source.config, tinyLora).load(randomAdapter(source.config))
  const step = new ResidentStep({ source, programs, parameters, adapter: () => adapter, repetition: 'loop' })
  return {
    step,
    [Symbol.dispose]: () => {
      programs[Symbol.dispose]()
    },
  }
}

/** Counts the runs of several tokens; the graph goes on with another id than it should wherever `strays` says so. */
function straying(step: ResidentStep, strays: (place: number) => boolean) {
  let [runs, turns] = [0, 0]
  const wrapped: DecodeStep = {
    states: step.states,
    vocabSize: step.vocabSize,
    choiceWidth: step.choiceWidth,
    maxTurns: step.maxTurns,
    run: (pass) => step.run(pass),
    async loop(pass) {
      const result = await step.loop(pass)
      runs++
      turns += result.turns
      return { ...result, ids: result.ids.map((id, place) => (strays(place) ? (id + 1) % 258 : id)) }
    },
  }
  return { wrapped, counted: () => ({ runs, turns }) }
}

const options = (greedy: boolean, stopIds: readonly number[] = []) => ({
  role: 'actor' as const,
  sampling: { ...unfiltered, greedy, stopIds, maxNewTokens: 50 },
  maxRows: 4,
  contextLength: 128,
  prefillTokens: 64,
})

test.each([{ greedy: true }, { greedy: false }])(
  'tokens behind an id that the host would not have chosen are not taken (greedy: $greedy)',
  async ({ greedy }) => {
    using opened = await openStep()
    const expected = await generated(opened.step, requests, options(greedy))
    const { wrapped, counted } = straying(opened.step, (place) => place % 11 === 3)
    const actual = await generated(wrapped, requests, options(greedy))
    expect(actual.map(({ ids }) => [...ids])).toEqual(expected.map(({ ids }) => [...ids]))
    for (const [index, { logprobs }] of actual.entries()) {
      expect(largestDifference(logprobs, expected[index]!.logprobs)).toBeLessThan(1e-5)
    }
    expect(expected.every(({ ids }) => ids.length === 50)).toBe(true)
    expect(counted().turns).toBeGreaterThan(150)
  },
)

test('a run ends when its rows have ended', async () => {
  using opened = await openStep()
  const plain = straying(opened.step, () => false)
  await generated(plain.wrapped, requests, options(false))
  // Four rows, then the two that waited: 49 tokens behind the prompts' own, each in one run.
  expect(plain.counted()).toEqual({ runs: 2, turns: 98 })
  const ending = straying(opened.step, () => false)
  const half = Array.from({ length: 129 }, (_, id) => 2 * id)
  const completions = await generated(ending.wrapped, requests, options(false, half))
  expect(completions.every(({ stopReason }) => stopReason === 'stop-id')).toBe(true)
  expect(ending.counted().turns).toBeLessThan(20)
})
