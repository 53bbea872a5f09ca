/** What the host says is wrong with a config, each sentence put beside what it is about. */

export const stepIds = ['model', 'data', 'reward', 'method', 'check'] as const
export type StepId = (typeof stepIds)[number]

export interface Problem {
  /** Setting or section; null: of the whole. */
  readonly key: string | null
  readonly step: StepId
  /** Without the key in front. */
  readonly sentence: string
  /** What to do about it, where the sentence does not say so. */
  readonly hint: string | null
  /** Nothing is wrong with it: it was not given yet. */
  readonly isMissing: boolean
  /** Counted from 0, in a run of several. */
  readonly stage: number | null
}

export interface Failure {
  readonly code: string | null
  readonly message: string
  readonly hint?: string | null | undefined
}

/** The keys that a config may begin with. */
export function problemsOf(failure: Failure, topKeys: readonly string[]): Problem[] {
  const hint = failure.hint ?? null
  if (failure.code !== 'config/invalid')
    return [
      {
        key: null,
        step: stepOfCode(failure.code),
        sentence: failure.message,
        hint,
        isMissing: false,
        stage: null,
      },
    ]
  const { text, stage } = withoutLead(failure.message)
  return sentencesOf(text, topKeys).map((sentence) => ({ ...keyed(sentence, topKeys), hint: null, stage }))
}

/** What can be done but is hardly meant, beside its setting too. */
export const warningsOf = (sentences: readonly string[], topKeys: readonly string[]): Problem[] =>
  sentences.map((sentence) => ({ ...keyed(sentence, topKeys), hint: null, stage: null }))

/** “The run config has 2 problems in stages[1]: …” → what follows, and the stage. */
function withoutLead(message: string): { readonly text: string; readonly stage: number | null } {
  const lead =
    /^(?:The run config has [^:]*?|The settings of [^:]* are wrong|The run config does not fit together): /.exec(
      message,
    )?.[0]
  const stage = /in stages\[(\d+)\]/.exec(lead ?? '')?.[1]
  return { text: message.slice(lead?.length ?? 0), stage: stage === undefined ? null : Number(stage) }
}

const keyPattern = (topKeys: readonly string[]) =>
  String.raw`(?:${topKeys.join('|')})(?:\.[A-Za-z][A-Za-z0-9]*|\[\d+\])*`

/** A sentence ends before one that begins with a key. */
const sentencesOf = (text: string, topKeys: readonly string[]): string[] =>
  text.split(new RegExp(String.raw`(?<=\.)\s+(?=${keyPattern(topKeys)}(?::|\s(?:is|and|has)\s))`))

function keyed(sentence: string, topKeys: readonly string[]): Omit<Problem, 'hint' | 'stage'> {
  const found = new RegExp(String.raw`^(${keyPattern(topKeys)})(: )?`).exec(sentence)
  const key = found?.[1] ?? null
  const rest = found?.[2] === undefined ? sentence : sentence.slice(found[0].length)
  return {
    key,
    step: key === null ? 'method' : stepOfKey(key),
    sentence: besideKey(rest, key),
    isMissing: rest.includes('it is missing') || isMissingReward(key, rest),
  }
}

const isMissingReward = (key: string | null, rest: string): boolean =>
  key === 'rewards' && rest.includes('neither a reward function nor an environment')

/** “rollout.groupSize is 1, but …” stands under its label. */
function besideKey(text: string, key: string | null): string {
  if (key !== null && text.startsWith(`${key} is `)) return `It${text.slice(key.length)}`
  return key !== null && text.startsWith(key) ? text : text.charAt(0).toUpperCase() + text.slice(1)
}

function stepOfKey(key: string): StepId {
  const [top = ''] = key.split(/[.[]/)
  if (top === 'model') return 'model'
  if (top === 'data') return 'data'
  return ['rewards', 'environment', 'rewardFailures', 'rewardLimits'].includes(top) ? 'reward' : 'method'
}

const codeSteps: readonly (readonly [RegExp, StepId])[] = [
  [/^(?:model|tokenizer)\//, 'model'],
  [/^(?:data|file)\//, 'data'],
  [/^(?:reward|sandbox|environment)\//, 'reward'],
]

const stepOfCode = (code: string | null): StepId =>
  codeSteps.find(([pattern]) => pattern.test(code ?? ''))?.[1] ?? 'method'

/** Those of one setting, or of what is in it. */
export const problemsAt = (problems: readonly Problem[], key: string): Problem[] =>
  problems.filter((problem) => {
    if (problem.key === null || problem.stage !== null) return false
    return problem.key === key || problem.key.startsWith(`${key}.`) || problem.key.startsWith(`${key}[`)
  })

/** All but what a step that is still to be done says by itself. */
export const openProblems = (problems: readonly Problem[], toDo: readonly StepId[]): Problem[] =>
  problems.filter(({ isMissing, step }) => !isMissing || !toDo.includes(step))

/** The first that is more than something missing, as it stands under its control. */
export function wrongWords(problems: readonly Problem[]): string | undefined {
  const wrong = problems.find(({ isMissing }) => !isMissing)
  return wrong === undefined ? undefined : [wrong.sentence, wrong.hint].filter(Boolean).join(' ')
}
