/** Links for LLaMA-Factory and axolotl, which train on given answers with the settings of transformers and PEFT. */
import { asNumber, asText, targetModules, words, type Given, type Link, type Remark } from './links.ts'

/** Rank times two where the file does not say it. */
export const llamafactoryAlpha: Link = {
  keys: { lora_alpha: null, lora_rank: 8 },
  read: (given) => asNumber(given('lora_alpha')) ?? (asNumber(given('lora_rank')) ?? 8) * 2,
}

/** Adapters with commas between: all but the last are merged into the model, and the last goes on learning. */
export const llamafactoryAdapter: Link = {
  keys: { adapter_name_or_path: null, create_new_adapter: false },
  read(given, remark) {
    const value = given('adapter_name_or_path')
    if (typeof value !== 'string') return null
    const all = value
      .split(',')
      .map((each) => each.trim())
      .filter(Boolean)
    const isNew = given('create_new_adapter') === true
    const merged = isNew ? all : all.slice(0, -1)
    if (merged.length > 0)
      remark(
        `adapter_name_or_path: LLaMA-Factory merges ${merged.join(', ')} into the model first: merge ${merged.length === 1 ? 'it' : 'them'} and choose that model.`,
      )
    if (isNew && all.length > 0) return null
    return all.at(-1) ?? null
  },
}

const otherTypes: Readonly<Record<string, string>> = {
  full: 'all weights',
  freeze: 'some layers whole',
  oft: 'an OFT adapter',
}

export const llamafactoryTargets: Link = {
  keys: { lora_target: 'all', finetuning_type: 'lora' },
  read(given, remark) {
    const type = asText(given('finetuning_type'))
    if (type !== 'lora')
      remark(
        `finetuning_type ${type}: LLaMA-Factory would train ${otherTypes[type] ?? 'something else'}; Turnwise trains a LoRA adapter, here of all linear layers.`,
      )
    const target = given('lora_target')
    return type !== 'lora' || target === 'all' ? 'all-linear' : targetModules.read(target, remark)
  },
}

export const axolotlTargets: Link = {
  keys: { lora_target_modules: null, lora_target_linear: null },
  read(given, remark) {
    const modules = given('lora_target_modules')
    if (given('lora_target_linear') === true || modules === null) return 'all-linear'
    if (typeof modules === 'string' && /[()[\]*+|\\]/.test(modules)) {
      remark(
        'lora_target_modules is a regular expression over module names, which Turnwise cannot apply; it adapts all linear layers.',
      )
      return 'all-linear'
    }
    return targetModules.read(modules, remark)
  },
}

/** axolotl counts passes, and thinks of a number of steps, or of times per pass. */
export const axolotlInterval = (steps: string, perEpoch: string): Link => ({
  keys: { [steps]: null, [perEpoch]: null },
  read(given, remark) {
    const every = asNumber(given(steps))
    if (every !== null && every >= 1) return Math.round(every)
    if (every !== null) remark(`${steps} is a fraction of all steps; Turnwise takes a number of steps.`)
    else if (given(perEpoch) !== null)
      remark(`${perEpoch} is a count per epoch; Turnwise takes a number of steps.`)
    return undefined
  },
})

const pairWords = words({ sigmoid: 'sigmoid', hinge: 'hinge', ipo: 'ipo' })

const smoothing = 'dpo_label_smoothing'
const isSmoothed = (given: Given): boolean => (asNumber(given(smoothing)) ?? 0) !== 0

/** A smoothed sigmoid is a loss of its own here. */
function smoothedLoss(loss: unknown, given: Given, remark: Remark): unknown {
  if (loss !== 'sigmoid' || !isSmoothed(given)) return loss
  remark(`The loss sigmoid with ${smoothing} is cDPO, which is the loss “conservative” in Turnwise.`)
  return 'conservative'
}

export const llamafactoryLoss: Link = {
  keys: { pref_loss: 'sigmoid', [smoothing]: 0 },
  read: (given, remark) => smoothedLoss(pairWords.read(given('pref_loss'), remark), given, remark),
}

function axolotlLossOf(given: Given, remark: Remark): unknown {
  const [first] = [given('dpo_loss_type')].flat()
  return given('rl') === 'ipo' ? 'ipo' : pairWords.read(first ?? 'sigmoid', remark)
}

export const axolotlLoss: Link = {
  keys: { rl: null, dpo_loss_type: null, [smoothing]: null },
  read(given, remark) {
    const loss = smoothedLoss(axolotlLossOf(given, remark), given, remark)
    if (loss === 'conservative')
      remark(`axolotl leaves ${smoothing} to TRL, which ignores it in its newer versions.`)
    return loss
  },
}

/** Reads label smoothing, which applies to the sigmoid loss alone. */
const smoothingOf = (link: Link): Link => ({
  keys: { [smoothing]: 0, ...link.keys },
  read(given, remark) {
    if (!isSmoothed(given)) return 0
    const loss = link.read?.(given, () => undefined)
    if (loss === 'conservative') return given(smoothing)
    remark(`The loss ${String(loss)} ignores ${smoothing}, so Turnwise sets it to 0.`)
    return 0
  },
})

export const llamafactorySmoothing = smoothingOf(llamafactoryLoss)
export const axolotlSmoothing = smoothingOf(axolotlLoss)

/** axolotl hands `trl.beta` over to TRL where it is set, else `rl_beta`. */
export const axolotlBeta: Link = {
  keys: { rl_beta: null, 'trl.beta': null },
  read(given, remark) {
    const [own, passed] = [asNumber(given('rl_beta')), asNumber(given('trl.beta'))]
    if (own !== null && passed !== null && own !== passed)
      remark(`rl_beta (${own}) was left aside: axolotl takes trl.beta (${passed}) where both are set.`)
    return passed ?? own ?? 0.1
  },
}
