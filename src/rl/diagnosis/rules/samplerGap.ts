import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { exactGapLimit } from '#rl/training/updateGuard.ts'
import { type DiagnosedRun, type Measured, seriesOf } from '../diagnosedRun.ts'
import type { RunFacts } from '../facts.ts'
import { change, short, tryTheSelftest } from '../rule.ts'
import { averageOf, evidence } from '../series.ts'

const window = 10
const enough = 3

/** Generating and learning disagree on how likely a token was, though both mean the same policy. */
export function samplerGap(run: DiagnosedRun): Finding[] {
  const gap = seriesOf(run, 'sampling/sampling_logp_difference/mean').slice(-window)
  if (gap.length < enough || averageOf(gap) <= exactGapLimit) return []
  const { precision, basePrecision, server } = run.facts
  if (server !== null) return [ofServer(gap, server, basePrecision)]
  const isRounded = precision !== 'f32' || basePrecision !== 'f32'
  const cause = isRounded
    ? `${precision === 'f32' ? 'products' : 'weights'} rounded to 8 bits are too coarse for this model`
    : 'it hints at a fault in precision or masks, on this device or in this program'
  return [
    {
      id: 'sampler-gap',
      severity: isRounded ? 'warning' : 'problem',
      words: `Train–inference logprob mismatch of ${short(averageOf(gap))} nats per token on the same completions: ${cause}.`,
      evidence: [evidence('sampling/sampling_logp_difference/mean', gap)],
      proposals: isRounded ? withoutRounding(precision === 'f32' ? 'base' : 'rollout') : [tryTheSelftest],
    },
  ]
}

const serverTitles = { vllm: 'vLLM', sglang: 'SGLang' } as const

/** By which a server gives log-probabilities of what it sampled from. */
const serverSettings = {
  vllm: 'started with --logprobs-mode processed_logprobs',
  sglang: 'started without SGLANG_RETURN_ORIGINAL_LOGPROB',
} as const

type Facts = Pick<RunFacts, 'server' | 'basePrecision'>

/** Two programs that hold the weights each in its own way. */
function ofServer(
  gap: readonly Measured[],
  { kind, url }: NonNullable<Facts['server']>,
  basePrecision: Facts['basePrecision'],
): Finding {
  const isRounded = basePrecision !== 'f32'
  const here = isRounded ? `this machine, whose base is rounded to ${basePrecision},` : 'this machine'
  return {
    id: 'sampler-gap',
    severity: 'warning',
    words: `The ${serverTitles[kind]} server at ${url} and ${here} disagree by ${short(averageOf(gap))} nats per token on the same completions. Check that it serves the model of this run unquantised, loads every version of the adapter, and was ${serverSettings[kind]}.`,
    evidence: [evidence('sampling/sampling_logp_difference/mean', gap)],
    proposals: [
      ...(isRounded ? [change('Learn on an exact base.', { 'base.precision': 'f32' })] : []),
      change('Weigh tokens by how much the two disagree.', { 'rollout.mismatchCorrection': 'on' }),
      change('Or generate on this machine.', { 'rollout.server': null }),
    ],
  }
}

const withoutRounding = (section: 'base' | 'rollout'): readonly Proposal[] => [
  change('Generate with full precision.', { [`${section}.precision`]: 'f32' }),
  change('Or weigh tokens by how much the two disagree.', { 'rollout.mismatchCorrection': 'on' }),
]
