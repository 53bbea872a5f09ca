/**
 * Completions that decode together against the same streams in other company, in six families and in every form in which products
 * read weights: in f32 each family, in a short run with one other form, so that each of these is met by two of them.
 */
import { describe, expect, test } from 'vitest'
import type { Completion } from '#engine/policy.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { asPolicySource, type WeightPrecisions } from '#host/models/baseCache.ts'
import { int8Form } from '#engine/runtime/device.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { randomStream } from '#shared/random.ts'
import { casesOf, eachOf, isLong } from '../../sweeps.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { completionsOf, oneThread, openTiny, randomSequence, tinySource, unfiltered } from './tinyModel.ts'

const folder = temporaryFolder()
const families = ['llama', 'mistral', 'gemma2', 'phi3', 'qwen2', 'gpt2'] as const

/** Wide enough for products of several blocks; the adapter changes every number by about as much as the base. */
const wide = { layers: 2, hiddenSize: 192, heads: 6, headDim: 32, intermediateSize: 512, deviation: 0.08 }

interface Form extends WeightPrecisions {
  readonly label: string
  /** Whether groups of several rows have the same numbers to the last bit. */
  readonly isSame: boolean
  /** What a completion's log-probabilities may differ by in other company, in nats: at most and on average. */
  readonly most: number
  readonly mean: number
}

/*
 * A row alone, and a pass over drafts, sums up in another order. In f32 that is all. Products that round their inputs make more of it,
 * since a last bit tips a rounding: to 16 bits in rows, to 8 in blocks, where the last of an odd number of rows is summed in another
 * order, too. Measured over these forms and rollouts in int8, at temperature 0.4 and 1: at most 5·10⁻⁵ nats, 0.005 and 0.12; on
 * average 5·10⁻⁶, 6·10⁻⁴ and 0.008. In blocks the numbers are the same with VNNI as without.
 */
const exact = { isSame: true, most: 2e-4, mean: 2e-5 }
const in16Bits = { isSame: true, most: 0.015, mean: 2e-3 }
const in8Bits = { isSame: false, most: 0.25, mean: 0.02 }

const forms: readonly Form[] = [
  { label: 'f32', base: 'f32', rollout: 'f32', int8Form: 'blocks', ...exact },
  { label: 'int8 in blocks', base: 'int8', rollout: 'f32', int8Form: 'blocks', ...in8Bits },
  { label: 'int4 in blocks', base: 'int4', rollout: 'f32', int8Form: 'blocks', ...in8Bits },
]
const inRows: Form = { label: 'int8 in rows', base: 'int8', rollout: 'f32', int8Form: 'rows', ...in16Bits }

/** Products of signed bytes are wrong on a processor without VNNI or AMX. */
const multipliesBytes = int8Form(oneThread) === 'rows'
const withoutUnit = multipliesBytes ? '' : ' (skipped without AVX-512-VNNI or AMX)'

const temperature = 0.4
const sampling = { ...unfiltered, temperature, maxNewTokens: 32 }
const samples = [...Array(11).keys()]
/** More rows than drafts are made for. */
const groups = [
  [0, 1, 2, 3, 4],
  [5, 6, 7, 8, 9, 10],
]

const promptOf = (vocabSize: number, index: number) => randomSequence(vocabSize, 14, index).ids.slice(0, 13)

/** Completions of some of a prompt's streams, which decode together. */
const decoded = (policy: OrtPolicy, prompt: number, streams: readonly number[]): Promise<Completion[]> =>
  completionsOf(
    policy,
    [
      {
        promptIds: promptOf(policy.vocabSize, prompt),
        streams: streams.map((sample) => randomStream(7, prompt, sample)),
      },
    ],
    { role: 'actor', sampling },
  )

/** Differences of log-probabilities up to the first id that differs. */
function apart(a: Completion, b: Completion): number[] {
  const gaps: number[] = []
  for (const [at, logprob] of a.logprobs.entries()) {
    if (a.ids[at] !== b.ids[at]) break
    gaps.push(Math.abs(logprob - b.logprobs[at]!))
  }
  return gaps
}

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/** e^(learner − sampler) of every token, which correction multiplies with. */
async function weightsOf(policy: OrtPolicy, prompt: number, completions: readonly Completion[]) {
  const start = promptOf(policy.vocabSize, prompt)
  const sequences = completions.map(({ ids }) => ({
    ids: Int32Array.from([...start, ...ids]),
    actionMask: new Uint8Array(start.length + ids.length - 1).fill(1, start.length - 1),
  }))
  const heads = await policy.score(sequences, { role: 'actor', temperature })
  return completions.flatMap(({ logprobs }, row) =>
    Array.from(logprobs, (logprob, at) => Math.exp(heads[row]!.logprobs[start.length - 1 + at]! - logprob)),
  )
}

const prompts = Array.from({ length: casesOf(1, 8) }, (_, index) => index)

async function openFamily(
  family: (typeof families)[number],
  precisions: WeightPrecisions,
): Promise<OrtPolicy> {
  const { heads, kvHeads, ...shape } = modelShapes[`tiny-${family}`]
  const source = await tinySource(folder, { ...shape, ...wide, kvHeads: kvHeads === heads ? 6 : 3 })
  return openTiny(await asPolicySource(source, precisions, folder), { maxRows: samples.length })
}

async function allOf<Of, Result>(
  of: readonly Of[],
  make: (each: Of) => Promise<Result[]>,
): Promise<Result[]> {
  const all: Result[] = []
  for (const each of of) all.push(...(await make(each)))
  return all
}

const numbersOf = (completions: readonly Completion[]) =>
  completions.map(({ ids, logprobs }) => ({ ids, logprobs }))

async function compareCompany(family: (typeof families)[number], form: Form): Promise<void> {
  using policy = await openFamily(family, form)
  for (const prompt of prompts) {
    const together = await decoded(policy, prompt, samples)
    const inGroups = await allOf(groups, (group) => decoded(policy, prompt, group))
    const single = await allOf(samples.slice(0, 4), (sample) => decoded(policy, prompt, [sample]))
    if (form.isSame) expect(numbersOf(inGroups)).toEqual(numbersOf(together))
    for (const others of [inGroups, single]) {
      const gaps = others.flatMap((completion, sample) => apart(completion, together[sample]!))
      expect(gaps.length).toBeGreaterThan(20)
      expect(Math.max(...gaps)).toBeLessThan(form.most)
      expect(meanOf(gaps)).toBeLessThan(form.mean)
      // What the record says is what the id was drawn from, in whatever company: then the weights are 1 on average.
      expect(Math.abs(meanOf(await weightsOf(policy, prompt, others)) - 1)).toBeLessThan(0.03)
    }
  }
}

/** In every run fused and transposed matrices, whose other form is in turn. */
const isAlways = (family: string) => family === 'gpt2'

eachOf(describe, { rows: families, isAlways }, '%s', (family) => {
  const inTurn = forms[1 + (families.indexOf(family) % forms.length)] ?? inRows
  const chosen = (form: Form) => isLong || form.base === 'f32' || form === inTurn
  test.each(forms.filter(chosen))('in $label', (form) => compareCompany(family, form))
  if (chosen(inRows))
    test.skipIf(!multipliesBytes)(`in ${inRows.label}${withoutUnit}`, () => compareCompany(family, inRows))
})
