import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/shorten.ts'
import type { RopeConfig } from './config.ts'
import type { Fields } from './fields.ts'

/** What every kind of rotary embedding starts from. */
export interface RopeBasis {
  /** Channels per head, even. */
  readonly headDim: number
  readonly theta: number
  readonly maxPositions: number
  /** Where the positions end that the model was first trained on, if the config says so outside the rope fields. */
  readonly originalMaxPositions: number | null
}

const f32 = Math.fround

/**
 * theta^(2i/headDim), rounded to f32 after every operation, as the framework computes that trained the checkpoints: at
 * position 30,000 the difference to exact arithmetic would already show. Su et al. 2021, arXiv:2104.09864.
 */
function plainPeriods({ headDim, theta }: RopeBasis): number[] {
  return Array.from({ length: headDim / 2 }, (_, pair) => f32(theta ** f32((2 * pair) / headDim)))
}

const plainFrequencies = (basis: RopeBasis): number[] => plainPeriods(basis).map((period) => f32(1 / period))

type RopeRule = (basis: RopeBasis, fields: Fields) => RopeConfig

const plain: RopeRule = (basis) => ({ inverseFrequencies: plainFrequencies(basis), attentionFactor: 1 })

const factorOf = (fields: Fields): number => fields.number('factor', { min: 1, max: 1e6 })

/** Chen et al. 2023, arXiv:2306.15595: positions divided by `factor`. */
const linear: RopeRule = (basis, fields) => {
  const factor = factorOf(fields)
  return {
    inverseFrequencies: plainFrequencies(basis).map((frequency) => f32(frequency / factor)),
    attentionFactor: 1,
  }
}

/**
 * NTK-aware scaling raises theta only for sequences beyond `max_position_embeddings`. Sequences here never are longer
 * than that, so the frequencies stay the plain ones.
 */
const dynamic: RopeRule = (basis, fields) => {
  factorOf(fields)
  return plain(basis, fields)
}

function originalMaxPositions(basis: RopeBasis, fields: Fields): number {
  return (
    basis.originalMaxPositions ??
    fields.integer('original_max_position_embeddings', { min: 1, max: 1 << 24, fallback: basis.maxPositions })
  )
}

/** Llama 3.1: long wavelengths divided by `factor`, short ones kept, a linear blend between. */
const llama3: RopeRule = (basis, fields) => {
  const factor = factorOf(fields)
  const low = fields.number('low_freq_factor', { min: 1e-6, max: 1e6 })
  const high = fields.number('high_freq_factor', { min: 1e-6, max: 1e6 })
  if (high <= low) throw fields.invalid('high_freq_factor', `greater than low_freq_factor (${low})`)
  const context = originalMaxPositions(basis, fields)
  const blend = (frequency: number): number => {
    const wavelength = f32(f32(1 / frequency) * f32(2 * Math.PI))
    if (wavelength < context / high) return frequency
    if (wavelength > context / low) return f32(frequency / factor)
    const smooth = f32(f32(f32(f32(1 / wavelength) * context) - low) / (high - low))
    return f32(f32(f32(f32(1 - smooth) * frequency) / factor) + f32(smooth * frequency))
  }
  return { inverseFrequencies: plainFrequencies(basis).map(blend), attentionFactor: 1 }
}

/** YaRN (Peng et al. 2023, arXiv:2309.00071): §3.2's blend per frequency, and §3.4's scale of the attention logits. */
const yarn: RopeRule = (basis, fields) => {
  const context = originalMaxPositions(basis, fields)
  const factor = fields.number('factor', {
    min: 1,
    max: 1e6,
    fallback: Math.max(1, basis.maxPositions / context),
  })
  const { low, high } = yarnRange(basis, fields, context)
  const width = low === high ? 0.001 : high - low
  const inverseFrequencies = plainPeriods(basis).map((period, pair) => {
    const kept = f32(1 - Math.min(1, Math.max(0, f32(f32(pair - f32(low)) / f32(width)))))
    const interpolated = f32(1 / f32(factor * period))
    return f32(f32(interpolated * f32(1 - kept)) + f32(f32(1 / period) * kept))
  })
  return { inverseFrequencies, attentionFactor: yarnAttentionFactor(fields, factor) }
}

/** The pairs between which the blend runs: those that turn `beta_fast` and `beta_slow` times within the context. */
function yarnRange(basis: RopeBasis, fields: Fields, context: number): { low: number; high: number } {
  const { headDim, theta } = basis
  const fast = fields.number('beta_fast', { min: 0, max: 1e6, fallback: 32 }) || 32
  const slow = fields.number('beta_slow', { min: 0, max: 1e6, fallback: 1 }) || 1
  const pairTurning = (turns: number): number =>
    (headDim * Math.log(context / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
  const isTruncated = fields.boolean('truncate', true)
  const low = isTruncated ? Math.floor(pairTurning(fast)) : pairTurning(fast)
  const high = isTruncated ? Math.ceil(pairTurning(slow)) : pairTurning(slow)
  return { low: Math.max(low, 0), high: Math.min(high, headDim - 1) }
}

function yarnAttentionFactor(fields: Fields, factor: number): number {
  const limits = { min: 0, max: 1e6, fallback: 0 }
  const given = fields.number('attention_factor', { min: 0, max: 1e6, fallback: -1 })
  if (given >= 0) return given
  const scaleFor = (strength: number): number => (factor <= 1 ? 1 : 0.1 * strength * Math.log(factor) + 1)
  const strength = fields.number('mscale', limits)
  const strengthAllDims = fields.number('mscale_all_dim', limits)
  return strength > 0 && strengthAllDims > 0 ? scaleFor(strength) / scaleFor(strengthAllDims) : scaleFor(1)
}

const rules: ReadonlyMap<string, RopeRule> = new Map([
  ['default', plain],
  ['linear', linear],
  ['dynamic', dynamic],
  ['llama3', llama3],
  ['yarn', yarn],
])

/** The rotary frequencies of a config's rope fields (`rope_scaling` or `rope_parameters`). */
export function ropeConfig(basis: RopeBasis, fields: Fields): RopeConfig {
  const type = fields.text('rope_type', fields.text('type', 'default'))
  const rule = rules.get(type)
  if (!rule) {
    throw new AppError(
      'model/unsupported',
      `${fields.where} asks for rope type "${shorten(type)}", which is not supported.`,
      `Supported are ${[...rules.keys()].join(', ')}.`,
    )
  }
  if (fields.number('partial_rotary_factor', { min: 0, max: 1, fallback: 1 }) !== 1) {
    throw new AppError(
      'model/unsupported',
      `${fields.where} rotates only a part of each head, which is not supported.`,
    )
  }
  return rule(basis, fields)
}
