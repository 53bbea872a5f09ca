/** The requests of a workflow other than completions: the run's reward functions, its environment, text and tokens. */
import type { ChatTemplate } from '#engine/text/chatTemplate.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { requireToolForm } from '#engine/text/toolCalls.ts'
import { AppError } from '#shared/errors.ts'
import type { RandomStream } from '#shared/random.ts'
import {
  type Environment,
  type EnvironmentAnswer,
  type EnvironmentTurn,
  framedObservation,
  isOver,
} from './environment.ts'
import { scoreRewards } from './trajectoryRewards.ts'
import type { RewardOptions } from './trajectoryRewards.ts'
import type { TextAsk, ToolAsk } from './workflow.ts'
import { conversationText } from './conversationText.ts'
import { checkedAnswer, seedAt } from './episodes.ts'
import type { Prompt, PromptRow } from './prompts.ts'
import type { TurnText } from './turnText.ts'

export interface WorkflowToolOptions {
  readonly rewards: Omit<RewardOptions, 'tokenizer'>
  readonly environment: Environment | null
  /** True if a critic values the states that truncated episodes are left in. */
  readonly hasCritic: boolean
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode'>
  readonly chatTemplate: ChatTemplate | null
  readonly text: TurnText
}

/** A request, with what the tools know about its episode. */
export interface ToolRequest<Ask extends ToolAsk = ToolAsk> {
  readonly ask: Ask
  readonly row: PromptRow
  /** Text of the row's prompt; '' if an environment writes it. */
  readonly promptText: string
  /** The environment's random numbers; position 0 seeds the reset, position k+1 step k. */
  readonly chance: RandomStream
  /** Number of steps that the episode has already requested. */
  readonly step: number
}

export type ToolAnswer =
  | {
      readonly answer: unknown
      readonly prompt?: Pick<Prompt, 'text' | 'ids'>
      readonly continuation?: Continuation
    }
  | ToolFault

/** Prompt that the policy would read next if an episode that is left after a turn went on. */
export interface Continuation {
  /** Ids up to the end of the turn. */
  readonly after: Int32Array
  /** Ids including what the environment said then. */
  readonly ids: Int32Array
}

export interface ToolFault {
  readonly fault: string
}

/** Answers the requests of all episodes together, in order. Errors: as scoreRewards. */
export async function answerTools(
  requests: readonly ToolRequest[],
  options: WorkflowToolOptions,
): Promise<readonly ToolAnswer[]> {
  const answers = new Map<ToolRequest, ToolAnswer>()
  const ofKind = <Kind extends ToolAsk['kind']>(kind: Kind) =>
    requests.filter((each): each is ToolRequest<Extract<ToolAsk, { kind: Kind }>> => each.ask.kind === kind)
  await judge(ofKind('rewards'), options, answers)
  const { environment } = options
  if (environment === null)
    for (const each of [...ofKind('reset'), ...ofKind('step')]) answers.set(each, noEnvironment)
  else {
    await reset(ofKind('reset'), { ...options, environment }, answers)
    await step(ofKind('step'), { ...options, environment }, answers)
  }
  return requests.map((each) => answers.get(each) ?? textAnswer(each.ask, options))
}

type Answers = Map<ToolRequest, ToolAnswer>
type Asking<Kind extends ToolAsk['kind']> = readonly ToolRequest<Extract<ToolAsk, { kind: Kind }>>[]

async function judge(requests: Asking<'rewards'>, { rewards }: WorkflowToolOptions, answers: Answers) {
  const inputs = requests.flatMap(({ ask, row, promptText }) =>
    ask.of.map(({ completion, prompt = promptText, row: columns = row.columns }) => ({
      prompt,
      completion,
      row: columns,
      step: rewards.step,
    })),
  )
  const scored = (await scoreRewards(rewards.rewards, inputs, rewards.onFailure)).values()
  for (const each of requests) {
    const answer = each.ask.of.map(() => {
      const { total, parts, failures } = scored.next().value!
      return { total, parts, failures: failures.map(({ name, message }) => `${name}: ${message}`) }
    })
    answers.set(each, { answer })
  }
}

const noEnvironment: ToolFault = {
  fault: 'The workflow uses an environment, but the run has none: set `environment`.',
}

type WorldOptions = WorkflowToolOptions & { readonly environment: Environment }

async function reset(requests: Asking<'reset'>, { environment, text }: WorldOptions, answers: Answers) {
  const starts = requests.map(({ row, chance }) => ({ row: row.columns, seed: seedAt(chance, 0) }))
  const turns = requests.length === 0 ? [] : await environment.reset(starts)
  requests.forEach((each, i) => {
    const told = environmentAnswer(turns[i], (turn) => text.opening(framedObservation(turn), turn.tools))
    const isEmpty = 'answer' in told && told.prompt?.ids.length === 0
    answers.set(each, isEmpty ? { fault: 'The first observation has no tokens.' } : told)
  })
}

async function step(
  requests: Asking<'step'>,
  { environment, hasCritic, text }: WorldOptions,
  answers: Answers,
) {
  const actions = requests.map(({ ask, row, chance, step: taken }) => ({
    row: row.columns,
    seed: seedAt(chance, taken + 1),
    state: ask.state ?? null,
    action: ask.action,
  }))
  const turns = requests.length === 0 ? [] : await environment.step(actions)
  requests.forEach((each, i) => {
    const { ids } = each.ask
    const following = (turn: EnvironmentTurn) => ({
      ids: [...ids, ...text.feedback(framedObservation(turn), ids.at(-1) ?? -1)],
    })
    answers.set(each, environmentAnswer(turns[i], following, hasCritic ? ids : null))
  })
}

/**
 * Builds the environment's answer, with what the policy reads next; nothing where the episode is over. `after`: up to
 * the end of a turn after which a critic may have to value the episode's state.
 */
function environmentAnswer(
  answer: EnvironmentAnswer | undefined,
  following: (turn: EnvironmentTurn) => { text?: string; ids: ArrayLike<number> },
  after: readonly number[] | null = null,
): ToolAnswer {
  const turn = checkedAnswer(answer)
  if ('failure' in turn) return { fault: `The environment failed: ${turn.failure}` }
  const { state, reward, terminated, truncated = false, columns = {}, metrics = {} } = turn
  const told = {
    state,
    observation: turn.observation,
    reward,
    columns,
    metrics,
    over: isOver(turn),
    terminated,
    truncated,
  }
  const isLeft = after !== null && !terminated && turn.observation !== null
  if (isOver(turn) && !isLeft) return { answer: { ...told, ids: null } }
  return trying(() => {
    const next = following(turn)
    const ids = Int32Array.from(next.ids)
    return {
      answer: { ...told, ids: isOver(turn) ? null : [...ids] },
      ...(next.text === undefined ? {} : { prompt: { text: next.text, ids } }),
      ...(after && { continuation: { after: Int32Array.from(after), ids } }),
    }
  })
}

function textAnswer(ask: ToolAsk, { tokenizer, chatTemplate, text }: WorkflowToolOptions): ToolAnswer {
  return trying(() => {
    switch (ask.kind) {
      case 'prompt': {
        const prompt = messagePrompt(ask.messages, { tokenizer, chatTemplate })
        return { answer: { text: prompt.text, ids: [...prompt.ids] }, prompt }
      }
      case 'reply':
        return { answer: { ids: [...ask.ids, ...text.feedback(ask.message, ask.ids.at(-1) ?? -1)] } }
      default:
        throw new Error(`Expected a request that is answered here, got ${ask.kind}.`)
    }
  })
}

/** Answers a question as the tokenizer does. */
export const answerText = (ask: TextAsk, tokenizer: WorkflowToolOptions['tokenizer']): string | number[] =>
  ask.kind === 'encode'
    ? [...tokenizer.encode(ask.text, { addSpecialTokens: false })]
    : tokenizer.decode(ask.ids, { skipSpecialTokens: true })

/** Returns messages as the policy reads them. Errors: AppError 'data/invalid', and those of the template. */
export function messagePrompt(
  messages: Parameters<ChatTemplate['render']>[0],
  { tokenizer, chatTemplate }: Pick<WorkflowToolOptions, 'tokenizer' | 'chatTemplate'>,
  tools?: readonly unknown[],
): Pick<Prompt, 'text' | 'ids'> {
  if (chatTemplate === null) {
    throw new AppError('data/invalid', 'The workflow uses chat messages, but the model has no chat template.')
  }
  if (tools !== undefined) requireToolForm(chatTemplate)
  const text = conversationText(messages, chatTemplate, tools && { tools })
  return { text, ids: tokenizer.encode(text, { addSpecialTokens: false }) }
}

/** User errors are reported with the episode. */
export function trying<Answer>(act: () => Answer): Answer | ToolFault {
  try {
    return act()
  } catch (error) {
    if (error instanceof AppError) return { fault: error.message }
    throw error
  }
}
