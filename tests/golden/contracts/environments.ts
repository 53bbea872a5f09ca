/** Transcripts of several turns over a tokenizer of digits, and the probe environments action by action. */
import { promptBudget } from '#rl/algorithms/common/padding.ts'
import { type EnvironmentTurn, framedObservation } from '#rl/environment.ts'
import { PythonRandom } from '#rl/environments/probes/pythonRandom.ts'
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

/** Digits are their own ids; special tokens stand in the text as they are spelled. */
function digitTokenizer(special: JsonObject) {
  const ids = new Map(Object.entries(special).map(([token, id]) => [token, asNumber(id)]))
  const spelled = new Map([...ids].map(([token, id]) => [id, token]))
  return {
    encode: (text: string) =>
      Int32Array.from(text.match(/<[^<>]+>|./gs) ?? [], (piece) => ids.get(piece) ?? Number(piece)),
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

/** Plays the given actions one after the other, whether or not the episode is over. */
async function played(
  id: string,
  settings: JsonObject,
  row: JsonObject,
  seed: number,
  actions: readonly Json[],
) {
  const environment = builtInEnvironment(id, settings as Record<string, number | string>)
  const [opening] = await environment.reset([{ row, seed }])
  const steps: object[] = []
  let state = turnOf(opening).state
  for (const action of actions) {
    const [answer] = await environment.step([{ row, seed, state, action: asText(action) }])
    const turn = turnOf(answer)
    state = turn.state
    const obs = turn.observation ?? ''
    steps.push({
      action,
      obs,
      observation: obs,
      reward: turn.reward,
      terminated: turn.done,
      truncated: false,
    })
  }
  return { opening: turnOf(opening), steps }
}

function turnOf(
  answer: Awaited<ReturnType<ReturnType<typeof builtInEnvironment>['reset']>>[number] | undefined,
) {
  if (answer === undefined || 'failure' in answer)
    throw new Error(`Expected a turn, got ${JSON.stringify(answer)}.`)
  return answer
}

const given = (names: Readonly<Record<string, Json | undefined>>): JsonObject =>
  Object.fromEntries(
    Object.entries(names).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

async function grid(inputs: JsonObject): Promise<unknown> {
  const { grid_size: size, max_turns: turns, step_cost: stepCost } = inputs
  const episodes = asList(inputs.episodes)
    .map(asObject)
    .map(async (episode) => {
      const row = given({ position: episode.start, target: episode.target })
      const seed = asNumber(episode.seed ?? inputs.seed ?? 42)
      const actions = asList(episode.actions)
      const { opening, steps } = await played(
        'probe-grid',
        given({ size, turns, stepCost }),
        row,
        seed,
        actions,
      )
      const [start, target] = String(opening.observation).split('').map(Number)
      return { start, target, obs: opening.observation, observation: opening.observation, steps }
    })
  return { episodes: await Promise.all(episodes) }
}

const probeOf = (name: string): string =>
  ['probe-constant', 'probe-conditional', 'probe-multi-input'].find((id) =>
    name.toLowerCase().includes(id.split('-')[1]!),
  ) ?? name

/** Episodes of one generator follow each other where they have no seed of their own. */
async function singleTurn(inputs: JsonObject): Promise<unknown> {
  const lists = Object.entries(inputs).filter(
    ([, value]) => Array.isArray(value) && asList(value).some(isObject),
  )
  const random = new PythonRandom(asNumber(inputs.seed ?? 42))
  const answers = await Promise.all(
    lists.map(async ([key, value]) => {
      const cases: unknown[] = []
      for (const each of asList(value).map(asObject))
        cases.push(await singleTurnCase({ ...inputs, ...each }, random))
      return [key, cases] as const
    }),
  )
  return answers.length > 0 ? Object.fromEntries(answers) : singleTurnCase(inputs, random)
}

const isObject = (value: Json): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

async function singleTurnCase(inputs: JsonObject, random: PythonRandom): Promise<unknown> {
  const id = probeOf(asText(inputs.env ?? inputs.environment ?? inputs.probe ?? inputs.kind ?? inputs.name))
  const digits = inputs.digits === undefined ? undefined : asNumbers(inputs.digits).join('')
  const settings =
    {
      'probe-constant': given({ target: inputs.target_digit ?? inputs.target, prompt: inputs.prompt }),
    }[id] ?? given({ digits })
  const source = inputs.seed === undefined ? random : new PythonRandom(asNumber(inputs.seed))
  const choices = [...(digits ?? '123')].map(Number)
  const drawn = {
    'probe-conditional': () => ({ digit: source.choice(choices) }),
    'probe-multi-input': () => ({ first: source.choice(choices), second: source.choice(choices) }),
  }[id]
  const shown = inputs.observation ?? inputs.obs
  const row = shown === undefined ? (drawn?.() ?? {}) : rowOf(asText(shown))
  const actions = inputs.actions === undefined ? [inputs.action ?? ''] : asList(inputs.actions)
  const { opening, steps } = await played(id, settings, row, 0, actions)
  const observation = opening.observation
  const only = actions.length === 1 && inputs.actions === undefined ? steps[0] : {}
  const rewards = steps.map((step) => ('reward' in step ? step.reward : null))
  return {
    ...only,
    observation,
    obs: observation,
    prompt: observation,
    target: opening.state,
    rewards,
    steps,
  }
}

const rowOf = (shown: string): JsonObject =>
  given({ digit: Number(shown), first: Number(shown[0]), second: Number(shown[1] ?? 0) })

export const environmentContracts = {
  token_observation_wrapper: exact(wrapped),
  'probe.grid': exact(grid),
  'probe.single_turn': exact(singleTurn),
}
