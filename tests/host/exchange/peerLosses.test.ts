/**
 * Settings of TRL and AgileRL, imported, against the losses their own code computes under the same settings, where Python
 * with the library is at hand: `python3`, or the program named by TURNWISE_PYTHON. Elsewhere a test is passed over, by
 * name.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { tallyMeans } from '#rl/algorithms/terms/tally.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import type { LossRow } from '#rl/algorithms/types.ts'
import { importConfig } from '#host/exchange/importConfig.ts'
import { yamlText } from '#host/exchange/project/yamlText.ts'
import { bareExperience } from '../../rl/bareExperience.ts'

const python = process.env['TURNWISE_PYTHON'] ?? 'python3'
const has = (program: string, modules: string): boolean =>
  spawnSync(program, ['-c', `import ${modules}`], { timeout: 100_000 }).status === 0
const hasTrl = has(python, 'trl')
const hasAgileRl = has(python, 'agilerl.algorithms.grpo')

interface PeerAnswer {
  readonly loss: number
  readonly logprobs: readonly number[][]
  readonly entropies: readonly number[][]
  readonly metrics: Readonly<Record<string, number>>
}

const lengths = [7, 3, 12, 1, 5, 9]
const width = Math.max(...lengths)

/** Six trajectories, right-padded for the other program. `shift`: that of the answers after other prompts. */
function batch(stream: number, shift = 1) {
  const random = new SequentialRandom(randomStream(23, stream))
  const rows = lengths.map((length, i): LossRow => {
    const logprobs = Float64Array.from({ length }, () => -3 * random.uniform() - 0.01)
    const near = (spread: number) => logprobs.map((value) => value + spread * random.normal())
    const advantage = random.normal()
    return {
      ...bareExperience,
      group: Math.floor(i / 2),
      actionMask: new Uint8Array(length).fill(1),
      turnIds: null,
      turnRewards: [Number(i % 3 === 0)],
      mismatchedLogRatio: shift + random.normal(),
      tokenLimit: width,
      behaviorLogprobs: near(0.4),
      referenceLogprobs: near(0.9),
      behaviorValues: null,
      advantages: new Float64Array(length).fill(advantage),
      returns: null,
      logprobs,
      entropies: Float64Array.from({ length }, () => random.uniform()),
      values: null,
      correction: null,
    }
  })
  const padded = (values: (row: LossRow) => ArrayLike<number>) =>
    rows.map((row) => Array.from({ length: width }, (_, t) => values(row)[t] ?? 0))
  const sent = {
    lp: padded((row) => row.logprobs),
    old: padded((row) => row.behaviorLogprobs),
    ref: padded((row) => row.referenceLogprobs!),
    entropies: padded((row) => row.entropies),
    advantages: padded((row) => row.advantages),
    mask: padded((row) => Float64Array.from(row.actionMask)),
    mismatched: rows.map(({ mismatchedLogRatio }) => mismatchedLogRatio),
    labels: rows.map(({ turnRewards }) => turnRewards[0] === 1),
  }
  return { rows, sent }
}

function asked(program: string, cases: readonly unknown[]): PeerAnswer[] {
  const script = path.join(import.meta.dirname, 'peerLosses.py')
  const { stdout, stderr, status } = spawnSync(program, [script], {
    input: JSON.stringify(cases),
    encoding: 'utf8',
    timeout: 280_000,
  })
  if (status !== 0) throw new Error(stderr.slice(-3000))
  return JSON.parse(stdout.slice(stdout.lastIndexOf('ANSWERS ') + 8)) as PeerAnswer[]
}

type Settings = Readonly<Record<string, unknown>>

function own(text: string, tool: 'trl' | 'agilerl', rows: readonly LossRow[]) {
  const { id, settings } = importConfig(text, tool).config.algorithm
  const answer = algorithmById(id).configure(settings).minibatchLoss(rows)(rows)
  return { ...answer, metrics: tallyMeans(answer.tallies) }
}

function expectSame(ours: ReturnType<typeof own>, theirs: PeerAnswer, what: string, digits: number): void {
  expect([what, ours.loss]).toEqual([what, expect.closeTo(theirs.loss, digits)])
  ours.coefficients.forEach(({ logprobs, entropies }, i) => {
    logprobs.forEach((slope, t) => {
      expect([what, i, t, slope]).toEqual([what, i, t, expect.closeTo(theirs.logprobs[i]![t]!, digits)])
      expect(entropies?.[t] ?? 0).toBeCloseTo(theirs.entropies[i]![t]!, digits)
    })
  })
  for (const [name, value] of Object.entries(theirs.metrics)) {
    const said = ours.metrics[name as keyof typeof ours.metrics]
    if (said !== undefined) expect([what, name, said]).toEqual([what, name, expect.closeTo(value, 6)]) // shares are 32-bit floats there
  }
}

const trlGroup: readonly Settings[] = [
  {},
  { beta: 0.4 },
  { beta: 0.4, use_bias_correction_kl: false },
  { beta: 0.4, importance_sampling_level: 'sequence', epsilon: 0.05 },
  { loss_type: 'grpo', beta: 0.1, entropy_coef: 0.3 },
  { loss_type: 'dr_grpo', entropy_coef: 0.3, max_completion_length: width, epsilon_high: 0.28, delta: 1.5 },
  { loss_type: 'cispo', epsilon_high: 1.3, beta: 0.2 },
  { loss_type: 'sapo', beta: 0.2, sapo_temperature_neg: 2 },
  { loss_type: 'sapo', importance_sampling_level: 'sequence' },
  { off_policy_mask_threshold: 0.05, beta: 0.2 },
]

const trlPairs: readonly Settings[] = [
  { loss_type: ['sigmoid'] },
  { loss_type: ['sigmoid'], label_smoothing: 0.1 },
  { loss_type: ['sigmoid', 'sft'], loss_weights: [1, 0.5] },
  ...['hinge', 'ipo', 'sppo_hard', 'apo_zero', 'apo_down'].map((name) => ({ loss_type: [name], beta: 0.3 })),
  { loss_type: ['robust'], label_smoothing: 0.2 },
  { loss_type: ['exo_pair'], label_smoothing: 0.01 },
]

test.skipIf(!hasTrl)(
  'TRL: losses, gradients, KL and clip metrics of imported settings (skipped without Python with trl)',
  () => {
    const { rows, sent } = batch(1)
    const group = trlGroup.map((settings) => ({ kind: 'trl-group', settings, ...sent }))
    const pairs = trlPairs.map((settings) => ({ kind: 'trl-pairs', settings, ...sent }))
    const answers = asked(python, [...group, ...pairs])
    trlGroup.forEach((settings, i) => {
      const ours = own(yamlText({ trainer: 'grpo', ...settings }), 'trl', rows)
      expectSame(ours, answers[i]!, JSON.stringify(settings), 9)
    })
    const given = rows.map((row) => ({ ...row, advantages: row.advantages.map(() => 1) }))
    trlPairs.forEach((settings, i) => {
      const ours = own(yamlText({ trainer: 'dpo', ...settings }), 'trl', given)
      expectSame(ours, answers[group.length + i]!, JSON.stringify(settings), 9)
    })
  },
)

/** Trainer, settings, and whether the reference point is above 0. */
const trlPreferences: readonly (readonly [trainer: string, settings: Settings, shift?: number])[] = [
  ['orpo', {}],
  ['orpo', { beta: 0.9 }],
  ['cpo', { loss_type: 'simpo', beta: 2, simpo_gamma: 1.2, cpo_alpha: 0 }],
  ['cpo', { loss_type: 'simpo', beta: 0.6 }],
  ['kto', {}],
  ['kto', { beta: 0.6, desirable_weight: 1.4, undesirable_weight: 0.5 }],
  ['kto', { beta: 0.3 }, -3],
]

test.skipIf(!hasTrl)(
  'TRL: ORPO, SimPO and KTO with imported settings (skipped without Python with trl)',
  () => {
    const cases = trlPreferences.map(([trainer, settings, shift]) => ({
      trainer,
      settings,
      ...batch(3, shift),
    }))
    const answers = asked(
      python,
      cases.map(({ trainer, settings, sent }) => ({ kind: `trl-${trainer}`, settings, ...sent })),
    )
    cases.forEach(({ trainer, settings, rows }, i) => {
      const ours = own(yamlText({ trainer, ...settings }), 'trl', rows)
      // Their metrics and logistic functions are 32-bit floats.
      expectSame(ours, answers[i]!, `${trainer} ${JSON.stringify(settings)}`, 6)
    })
  },
)

/** Without what it masks by default, and with. */
const unmasked = { off_policy_token_mask_bounds: null, off_policy_sequence_mask_threshold: null }
const agilerlGroup: readonly Settings[] = [
  { ...unmasked, beta: 0 },
  { ...unmasked, beta: 0.4 },
  { ...unmasked, beta: 0.4, use_bias_correction_kl: false, kl_clamp: null },
  { ...unmasked, beta: 0.4, kl_clamp: 0.05 },
  { ...unmasked, beta: 0.4, loss_norm: 'micro_batch', clip_coef: [0.9, 1.3] },
  { ...unmasked, beta: 0.1, loss_type: 'gspo', clip_coef: 0.05 },
  { ...unmasked, beta: 0.1, importance_sampling_level: 'trajectory' },
  { ...unmasked, beta: 0, loss_type: 'cispo' },
  // Where there is a KL term, it leaves that out as well; import and export say so.
  { ...unmasked, off_policy_sequence_mask_threshold: 0.03, beta: 0 },
]

test.skipIf(!hasAgileRl)(
  'AgileRL: losses, gradients and KL of imported settings (skipped without Python with agilerl)',
  () => {
    const { rows, sent } = batch(2)
    const cases = agilerlGroup.map((settings) => ({ kind: 'agilerl-group', settings, ...sent }))
    const answers = asked(python, cases)
    agilerlGroup.forEach((settings, i) => {
      const ours = own(yamlText({ algorithm: { name: 'GRPO', ...settings } }), 'agilerl', rows)
      expectSame(ours, answers[i]!, JSON.stringify(settings), 6) // its weights of tokens are 32-bit floats
    })
  },
)
