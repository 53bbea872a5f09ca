import type { Finding } from '#shared/diagnosis.ts'
import type { DiagnosedRun } from '../diagnosedRun.ts'
import { change, percent } from '../rule.ts'
import { surely } from '../rewardScale.ts'
import { countsOf, enough, informative, wordsOfEach, type Words } from './heldOut.ts'
import { languageOf } from './languages.ts'

/** Features of training and validation prompts; null if there are too few of either. */
function promptsOf({ samples, heldOutPrompts }: DiagnosedRun) {
  const [trained, heldOut] = [samples.map(({ prompt }) => prompt), heldOutPrompts].map((all) => [
    ...new Set(all),
  ])
  if (trained === undefined || heldOut === undefined) return null
  if (trained.length < 2 * enough || heldOut.length < enough) return null
  const steps = samples.map(({ step }) => step)
  return { trained, heldOut, span: { fromStep: Math.min(...steps), toStep: Math.max(...steps) } }
}

const sameRows = change('Choose validation rows like the training rows, or a share of them.', {})

/** Finds validation prompts in another language than those of training. */
export function heldOutLanguage(run: DiagnosedRun): Finding[] {
  const prompts = promptsOf(run)
  if (prompts === null) return []
  const words = [wordsOfEach(prompts.trained), wordsOfEach(prompts.heldOut)] as const
  const said = informative([...words[0], ...words[1]])
  const [trained, heldOut] = words.map((all) =>
    languageOf(all.map((each) => each.filter((word) => said.has(word)))),
  )
  if (!trained || !heldOut || trained.language === heldOut.language) return []
  return [
    {
      id: 'held-out-other-language',
      severity: 'warning',
      words: `The validation prompts are in another language (${heldOut.language}) than the training prompts (${trained.language}), so the eval reward does not show how well this run learns.`,
      evidence: [
        { of: `training prompts with words of ${trained.language}`, value: trained.share, ...prompts.span },
        { of: `validation prompts with words of ${heldOut.language}`, value: heldOut.share, ...prompts.span },
      ],
      proposals: [sameRows],
    },
  ]
}

/** Shares of the prompts: what nearly all of one kind have, and hardly any of the other. */
const [nearlyAll, hardlyAny] = [0.9, 0.1]
/** The same of signs that training prompts lack: fewer prompts need to have them. */
const [many, none] = [0.5, 0.05]
/** Share of the usual words of training that validation prompts have too, where they are about the same. */
const sameWords = 0.5
/** Share of the prompts from which a word is a usual one. */
const usual = 0.1

/** Validation prompts are about the same, but put otherwise: with options, as JSON, in words for digits, in capitals. */
export function heldOutForm(run: DiagnosedRun): Finding[] {
  const prompts = promptsOf(run)
  if (prompts === null) return []
  const inner = withoutFrame([...prompts.trained, ...prompts.heldOut])
  const [own, other] = [prompts.trained.map(inner), prompts.heldOut.map(inner)]
  const [trained, heldOut] = [featuresOf(own), featuresOf(other)]
  const unseen = unseenWords(own, other)
  trained.set(newWords, unseen.trained)
  heldOut.set(newWords, unseen.heldOut)
  const counts = { trained: prompts.trained.length, heldOut: prompts.heldOut.length }
  const apart = [...new Set([...trained.keys(), ...heldOut.keys()])]
    .map((name) => ({ name, trained: trained.get(name) ?? 0, heldOut: heldOut.get(name) ?? 0 }))
    .filter((shares) => isApart(shares, counts))
  if (apart.length === 0 || !(keptWords(prompts.trained, prompts.heldOut) >= sameWords)) return []
  const listed = apart
    .slice(0, 3)
    .map(
      ({ name, ...share }) =>
        `${name} in ${percent(share.trained)} of the training and ${percent(share.heldOut)} of the validation prompts`,
    )
  return [
    {
      id: 'held-out-other-form',
      severity: 'warning',
      words: `The validation prompts have another form than the training prompts: ${listed.join(', ')}. The eval reward does not show how well this run learns.`,
      evidence: apart.slice(0, 3).flatMap(({ name, ...share }) => [
        { of: `training prompts with ${name}`, value: share.trained, ...prompts.span },
        { of: `validation prompts with ${name}`, value: share.heldOut, ...prompts.span },
      ]),
      proposals: [sameRows],
    },
  ]
}

interface Feature extends Readonly<Record<'trained' | 'heldOut', number>> {
  readonly name: string
}

/**
 * Returns true if a feature is farther apart than by chance. A feature that half of the training prompts lack is one of
 * their forms.
 */
function isApart({ name, trained, heldOut }: Feature, counts: Omit<Feature, 'name'>): boolean {
  const [low, high] = [Math.min(trained, heldOut), Math.max(trained, heldOut)]
  if (high >= nearlyAll && low <= hardlyAny) return true
  if (/^“\p{L}+”$/u.test(name)) return false
  const pooled = (trained * counts.trained + heldOut * counts.heldOut) / (counts.trained + counts.heldOut)
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / counts.trained + 1 / counts.heldOut))
  return heldOut >= many && trained <= none && heldOut - trained > surely * error
}

/** Cuts off what every prompt begins and ends with: the markup of a chat template, and a prompt to the system. */
function withoutFrame(prompts: readonly string[]): (prompt: string) => string {
  const shared = (a: string, b: string, at: (text: string, i: number) => string | undefined): number => {
    const end = Math.min(a.length, b.length)
    for (let i = 0; i < end; i++) if (at(a, i) !== at(b, i)) return i
    return end
  }
  const [first = ''] = prompts
  const begin = Math.min(...prompts.map((each) => shared(first, each, (text, i) => text[i])))
  const end = Math.min(...prompts.map((each) => shared(first, each, (text, i) => text.at(-1 - i))))
  return (prompt) => prompt.slice(begin, Math.max(begin, prompt.length - end))
}

/** Signs and words that make a prompt's form, each with the share of the prompts that have it. */
function featuresOf(prompts: readonly string[]): Map<string, number> {
  const counts = Map.groupBy(prompts.flatMap(formOf), (feature) => feature)
  return new Map([...counts].map(([feature, { length }]) => [feature, length / prompts.length]))
}

/** The words of each prompt, without numbers and single letters. */
const lettersOf = (prompts: readonly string[]): Words[] =>
  wordsOfEach(prompts).map((words) => words.filter((word) => /^\p{L}{2,}$/u.test(word)))

const newWords = 'words of no other training prompt'

/** Share of the prompts of either kind that have such a word. */
function unseenWords(trained: readonly string[], heldOut: readonly string[]) {
  const [own, other] = [lettersOf(trained), lettersOf(heldOut)]
  const { of } = countsOf(own, new Set(own.flat()))
  const share = (all: readonly Words[], inItself: number) =>
    all.filter((words) => words.some((word) => (of.get(word) ?? 0) <= inItself)).length / all.length
  return { trained: share(own, 1), heldOut: share(other, 0) }
}

const kinds: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['digits', /\p{N}/u],
  ['small letters', /\p{Ll}/u],
  ['capitals', /\p{Lu}/u],
  ['line breaks', /\n/],
]

/**
 * Returns the features of a prompt, each once. Full stops, commas, apostrophes and question marks come and go with
 * sentences.
 */
const formOf = (prompt: string): string[] => [
  ...kinds.flatMap(([name, pattern]) => (pattern.test(prompt) ? [name] : [])),
  ...new Set(prompt.match(/[\p{P}\p{S}](?<![.,?!'’])/gu)?.map((sign) => `“${sign}”`)),
  ...new Set(
    prompt
      .toLowerCase()
      .match(/\p{L}+/gu)
      ?.map((word) => `“${word}”`),
  ),
]

/** Share of training's usual words in validation, weighted by frequency; 1 if all are in every prompt. */
function keptWords(trained: readonly string[], heldOut: readonly string[]): number {
  const [own, other] = [lettersOf(trained), lettersOf(heldOut)]
  const { of } = countsOf(own, informative(own))
  const common = [...of].filter(([, count]) => count >= usual * own.length)
  const seen = new Set(other.flat())
  const total = common.reduce((sum, [, count]) => sum + count, 0)
  const kept = common.reduce((sum, [word, count]) => sum + (seen.has(word) ? count : 0), 0)
  return total === 0 ? 1 : kept / total
}
