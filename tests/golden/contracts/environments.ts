/** Transcripts of several turns over a tokenizer of digits, and the probe environments action by action. */
import { promptBudget } from '#rl/training/rollOut.ts'
import { type EnvironmentAnswer, type EnvironmentTurn, framedObservation } from '#rl/rollout/environment.ts'
import { builtInEnvironment } from '#rl/environments/tasks/registry.ts'
import { answered, type EpisodeLimits, overflowOf } from '#rl/rollout/episodes.ts'
import { masksOf, openTranscript, type Transcript, windowed, withGenerated } from '#rl/rollout/transcript.ts'
import { createTurnText, type TurnText } from '#rl/rollout/turnText.ts'
import {
  asList,
  asNumber,
  asNumbers,
  asObject,
  asText,
  exact,
  type Json,
  type JsonObject,
} from '../contract.ts'

/** Digits are their own ids; special tokens stand in the text as they are spelled; anything else has no token. */
function digitTokenizer(special: JsonObject) {
  const ids = new Map(Object.entries(special).map(([token, id]) => [token, asNumber(id)]))
  const spelled = new Map([...ids].map(([token, id]) => [id, token]))
  return {
    encode: (text: string) =>
      Int32Array.from(text.match(/<[^<>]+>|\d/g) ?? [], (piece) => ids.get(piece) ?? Number(piece)),
    decode: (tokens: Iterable<number>, { skipSpecialTokens }: { readonly skipSpecialTokens: boolean }) =>
      [...tokens]
        .map((id) => (skipSpecialTokens && spelled.has(id) ? '' : (spelled.get(id) ?? String(id))))
        .join(''),
  }
}

const roleTokens: Readonly<Record<string, string>> = { system: '<s>', user: '<u>', assistant: '<a>' }

const digitTemplate = {
  render: (
    messages: readonly { readonly role: string; readonly content: string }[],
    { addGenerationPrompt }: { readonly addGenerationPrompt: boolean },
  ) =>
    messages.map(({ role, content }) => `${roleTokens[role]!}${content}<end>`).join('') +
    (addGenerationPrompt ? '<a>' : ''),
}

function turnTextOf(inputs: JsonObject): TurnText {
  const options = asObject(inputs.options)
  return createTurnText({
    tokenizer: digitTokenizer(asObject(asObject(inputs.tokenizer).special)),
    chatTemplate: digitTemplate,
    applyChatTemplate: options.apply_chat_template !== false,
    strictBoundary: options.strict_chat_template_boundary !== false,
  })
}

/** The text of an observation in the frame its `info` asks for. */
function observed({ text, info }: JsonObject): Pick<EnvironmentTurn, 'observation' | 'prefix' | 'suffix'> {
  const { prefix = '', suffix = '' } = asObject(info ?? {})
  return { observation: asText(text), prefix: asText(prefix), suffix: asText(suffix) }
}

function limitsOf(options: JsonObject): EpisodeLimits {
  const contextLength = typeof options.max_model_len === 'number' ? options.max_model_len : Infinity
  const maxNewTokens = typeof options.max_output_tokens === 'number' ? options.max_output_tokens : null
  return {
    maxTurns: asNumber(options.max_turns),
    contextLength,
    maxNewTokens,
    maxPromptTokens: contextLength === Infinity ? Infinity : promptBudget(contextLength, maxNewTokens),
    maxTranscriptTokens: Infinity,
    slidingWindow: options.enable_sliding_window === true,
  }
}

function firstTranscript(inputs: JsonObject, text: TurnText): Transcript {
  const framed = framedObservation(observed(asObject(inputs.first_observation)))
  const system = typeof inputs.system_prompt === 'string' ? inputs.system_prompt : ''
  if (system.trim() === '' || typeof framed !== 'string') return openTranscript(text.opening(framed).ids)
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: framed },
  ]
  return openTranscript(text.opening(messages).ids)
}

/** One turn: generated ids in, what the environment scripted for it out. */
function scriptedTurn(before: Transcript, generated: Json, step: JsonObject, inputs: JsonObject) {
  const { terminated, truncated } = step
  const spoken = withGenerated(before, Int32Array.from(asNumbers(generated)))
  const isOver = terminated === true || truncated === true
  const transcript = isOver ? spoken : answered(spoken, observed(step), turnTextOf(inputs))
  const overflow = isOver ? null : overflowOf(transcript, limitsOf(asObject(inputs.options)))
  const result = {
    reward: step.reward,
    terminated,
    truncated: truncated === true || overflow !== null,
    overflow: overflow && {
      full_prompt_len: overflow.fullPromptLength,
      max_prompt_tokens: overflow.maxPromptTokens,
      max_model_len: overflow.contextLength,
      max_output_tokens: overflow.maxNewTokens,
    },
  }
  return { transcript, result, isOver: isOver || overflow !== null }
}

function wrapped(inputs: JsonObject): unknown {
  const limits = limitsOf(asObject(inputs.options))
  const [prompts, modelPrompts]: [Int32Array[], Int32Array[]] = [[], []]
  const results: { readonly reward: Json | undefined }[] = []
  let transcript = firstTranscript(inputs, turnTextOf(inputs))
  for (const [turn, generated] of asList(inputs.generated_ids).entries()) {
    prompts.push(transcript.ids)
    modelPrompts.push(windowed(transcript, limits.maxPromptTokens) ?? transcript.ids)
    const step = asObject(asList(inputs.env_steps)[turn])
    const advanced = scriptedTurn(transcript, generated, step, inputs)
    transcript = advanced.transcript
    results.push(advanced.result)
    if (advanced.isOver) break
  }
  const { actionMask, turnIds } = masksOf(transcript)
  return {
    prompt_ids: prompts,
    model_prompt_ids: modelPrompts,
    step_results: results,
    full_ids: transcript.ids,
    action_mask: actionMask,
    turn_ids: turnIds,
    rewards: Array.from(
      { length: Math.max(limits.maxTurns, results.length) },
      (_, k) => results[k]?.reward ?? 0,
    ),
  }
}

interface Play {
  readonly id: string
  readonly settings: JsonObject
  readonly row: JsonObject
  readonly seed: number
  readonly actions: readonly Json[]
}

/** Plays the given actions one after the other, whether or not the episode is over. */
async function played({ id, settings, row, seed, actions }: Play) {
  const environment = builtInEnvironment(id, settings as Record<string, number | string>)
  const opening = turnOf((await environment.reset([{ row, seed }]))[0])
  const steps: { readonly reward: number | null }[] = []
  let { state } = opening
  for (const action of actions) {
    const [answer] = await environment.step([{ row, seed, state, action: asText(action) }])
    const turn = turnOf(answer)
    state = turn.state
    const obs = textOf(turn)
    const { reward, terminated } = turn
    steps.push(Object.assign({ reward }, { action, obs, observation: obs, terminated, truncated: false }))
  }
  return { observation: textOf(opening), steps }
}

function turnOf(answer: EnvironmentAnswer | undefined): EnvironmentTurn {
  if (answer !== undefined && !('failure' in answer)) return answer
  throw new Error(`Expected a turn, got ${JSON.stringify(answer)}.`)
}

const textOf = ({ observation }: EnvironmentTurn): string =>
  typeof observation === 'string' ? observation : ''

/** Without what the case does not say. */
const said = (names: Readonly<Record<string, Json | undefined>>): JsonObject =>
  Object.fromEntries(
    Object.entries(names).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  )

async function grid(inputs: JsonObject): Promise<unknown> {
  const settings = said({ size: inputs.grid_size, turns: inputs.max_turns, stepCost: inputs.step_cost })
  const episodes = asList(inputs.episodes)
    .map(asObject)
    .map(async (episode) => {
      const { observation, steps } = await played({
        id: 'probe-grid',
        settings,
        row: said({ position: episode.start, target: episode.target }),
        seed: asNumber(episode.seed ?? inputs.seed ?? defaultSeed),
        actions: asList(episode.actions),
      })
      const [start, target] = [...observation].map(Number)
      return { start, target, obs: observation, observation, steps }
    })
  return { episodes: await Promise.all(episodes) }
}

/** Python's environments seed their generator with it when nobody does. */
const defaultSeed = 42

/** Episodes are given as lists of cases, or the inputs are the one case. */
async function singleTurn(inputs: JsonObject): Promise<unknown> {
  const isCase = (value: Json) => typeof value === 'object' && value !== null && !Array.isArray(value)
  const lists = Object.entries(inputs).filter(
    ([, value]) => Array.isArray(value) && asList(value).some(isCase),
  )
  if (lists.length === 0) return singleTurnCase(inputs)
  const answers = lists.map(async ([name, list]) => {
    const cases = asList(list).map((each) => singleTurnCase({ ...inputs, ...asObject(each) }))
    return [name, await Promise.all(cases)] as const
  })
  return Object.fromEntries(await Promise.all(answers))
}

/** By their Python names: ConstantTargetEnv, ConditionalTargetEnv, MultiInputConditionalEnv. */
const singleTurnProbes = [
  { id: 'probe-multi-input', word: /multi/i },
  { id: 'probe-conditional', word: /conditional/i },
  { id: 'probe-constant', word: /constant/i },
] as const

async function singleTurnCase(inputs: JsonObject): Promise<unknown> {
  const name = asText(firstOf(inputs, ['env', 'environment', 'probe', 'kind', 'name']))
  const id = singleTurnProbes.find(({ word }) => word.test(name))?.id ?? name
  const shown = firstOf(inputs, ['observation', 'obs'])
  const play = await played({
    id,
    settings: singleTurnSettings(id, inputs),
    row: shown === undefined ? {} : shownDigits(asText(shown)),
    seed: asNumber(inputs.seed ?? defaultSeed),
    actions: asList(inputs.actions ?? [inputs.action ?? '']),
  })
  const rewards = play.steps.map(({ reward }) => reward)
  const prompt = play.observation
  return { ...play.steps[0], steps: play.steps, rewards, observation: prompt, obs: prompt, prompt }
}

/** The first of these keys that is there. */
const firstOf = (inputs: JsonObject, names: readonly string[]): Json | undefined =>
  names.map((name) => inputs[name]).find((value) => value !== undefined)

function singleTurnSettings(id: string, inputs: JsonObject): JsonObject {
  if (id === 'probe-constant') {
    return said({ target: firstOf(inputs, ['target_digit', 'target']), prompt: inputs.prompt })
  }
  return inputs.digits === undefined ? {} : { digits: asNumbers(inputs.digits).join('') }
}

const shownDigits = (text: string): JsonObject =>
  said({ digit: Number(text), first: Number(text[0]), second: Number(text[1] ?? 0) })

export const environmentContracts = {
  token_observation_wrapper: exact(wrapped),
  'probe.grid': exact(grid),
  'probe.single_turn': exact(singleTurn),
}
