/** Recognises preference data: a better and a worse answer to the same prompt. */
import { isJsonObject } from '#host/files/strictJson.ts'
import { isChatKind } from '#shared/columnKind.ts'
import { chatIn } from '#shared/messages.ts'
import { type Columns, columnsNamed, isPromptKind } from './columnKinds.ts'
import { isDialogue } from './dialogues.ts'
import { stepsName } from './leftParts.ts'
import type { Mapping } from './mapping.ts'
import { againstRatings, listDoubts, sameAnswers } from './pairDoubts.ts'
import {
  type Asked,
  asPrompt,
  chatsIn,
  chatStep,
  promptNames,
  questionNames,
  rename,
  systemBeside,
} from './promptParts.ts'
import type { Proposal } from './proposal.ts'

const chosenNames = [
  ...['chosen', 'accepted', 'response_j', 'chosen_response', 'chosen_answer', 'response_chosen'],
  ...['preferred', 'preferred_response', 'better', 'better_response', 'good_response', 'good_answer'],
]
const rejectedNames = [
  ...['rejected', 'response_k', 'rejected_response', 'rejected_answer', 'response_rejected'],
  ...['dispreferred', 'dispreferred_response', 'worse', 'worse_response', 'bad_response', 'bad_answer'],
]

/** OpenAI's own format: the prompt in `input.messages`, a list of one message on either side. */
export function openAiPreference(columns: Columns): Proposal | null {
  const [input, chosen, rejected] = [
    columns.find(['input']),
    columns.find(['preferred_output'], isChatKind),
    columns.find(['non_preferred_output'], isChatKind),
  ]
  if (input === undefined || chosen === undefined || rejected === undefined) return null
  const inputs = columns.values(input).filter(isJsonObject)
  if (inputs.length === 0 || !inputs.every(({ messages }) => chatIn(messages) !== null)) return null
  const withTools = inputs.filter(({ tools }) => (tools ?? null) !== null).length
  return {
    evidence: columnsNamed(`${input}.messages`, chosen, rejected),
    isConversational: true,
    prompt: { column: 'prompt' },
    answer: null,
    used: [input, chosen, rejected],
    mapping: [
      ...rename(`${input}.messages`, 'prompt'),
      { kind: 'chat', column: 'prompt' },
      ...[chosen, rejected].flatMap((column) => chatStep(columns, column)),
      ...rename(chosen, 'chosen'),
      ...rename(rejected, 'rejected'),
      ...(withTools > 0 && withTools === inputs.length ? rename(`${input}.tools`, 'tools') : []),
    ],
    doubts: [
      ...sameAnswers(columns, chosen, rejected),
      ...severalTurns(columns, chosen, rejected),
      ...(withTools === 0
        ? []
        : [
            `“${input}.tools” (functions that the model may call: \`data.tools\` of a run offers them) is not used.`,
          ]),
    ],
  }
}

export function preference(columns: Columns): Proposal | null {
  const [chosen, rejected] = [
    columns.find(chosenNames, isPromptKind),
    columns.find(rejectedNames, isPromptKind),
  ]
  if (chosen === undefined || rejected === undefined) return null
  const names: Mapping = [
    ...chatStep(columns, chosen),
    ...chatStep(columns, rejected),
    ...rename(chosen, 'chosen'),
    ...rename(rejected, 'rejected'),
  ]
  const doubts = [
    ...sameAnswers(columns, chosen, rejected),
    ...againstRatings(columns),
    ...listDoubts(columns, chosen, rejected),
  ]
  const evidence = columnsNamed(chosen, rejected)
  const system = systemBeside(columns, chosen)
  if (sharesPrompt(columns, chosen, rejected))
    return {
      evidence: `${evidence}, which begin alike`,
      isConversational: true,
      prompt: { column: 'prompt' },
      answer: null,
      doubts,
      used: [chosen, rejected, columns.find(['prompt', ...questionNames]), ...system.used].filter(
        (name) => name !== undefined,
      ),
      mapping: [...names, { kind: 'shared-prompt' }, ...system.mapping],
    }
  const from = columns.find(promptNames, isPromptKind)
  if (from === undefined)
    return {
      evidence,
      isConversational: false,
      mapping: names,
      prompt: null,
      answer: null,
      used: [chosen, rejected],
      doubts: [...doubts, `No column holds the prompt that “${chosen}” and “${rejected}” answer.`],
    }
  const { mapping, used, isConversational, begun } = withSteps(columns, from)
  doubts.push(...begunDoubt(begun, chosen, rejected), ...severalTurns(columns, chosen, rejected))
  return {
    evidence: columnsNamed(from, chosen, rejected),
    isConversational: isConversational || isChatKind(columns.kind(chosen)),
    prompt: { column: 'prompt' },
    answer: null,
    mapping: [...names, ...mapping],
    used: [...used, chosen, rejected],
    doubts,
  }
}

const begunDoubt = (begun: string | null, chosen: string, rejected: string): string[] =>
  begun === null
    ? []
    : [
        `“${begun}” is read as the beginning of both answers: it follows the prompt as a message of the assistant, which “${chosen}” and “${rejected}” go on from.`,
      ]

/** Step-DPO's answers are the next step after others, which the policy has begun its answer with. */
function withSteps(columns: Columns, from: string): Asked & { readonly begun: string | null } {
  const asked = asPrompt(columns, from)
  const begun = columns.find([stepsName], (kind) => kind === 'text')
  const isRead = asked.mapping.every(({ kind }) => kind === 'messages' || kind === 'column')
  if (begun === undefined || isChatKind(columns.kind(from)) || !isRead) return { ...asked, begun: null }
  const step = asked.mapping.find((each) => each.kind === 'messages') ?? { kind: 'messages', parts: [from] }
  return { mapping: [{ ...step, begun }], used: [...asked.used, begun], isConversational: true, begun }
}

function severalTurns(columns: Columns, ...answers: readonly string[]): string[] {
  const long = answers.find((name) => chatsIn(columns, name).some((chat) => chat.length > 1))
  return long === undefined
    ? []
    : [`“${long}” holds several messages: answers of several turns cannot be learned.`]
}

/** Tests whether most pairs are whole conversations that begin with the same messages, or dialogues as text. */
function sharesPrompt(columns: Columns, chosen: string, rejected: string): boolean {
  const sharing = columns.rows.filter((row) => {
    const [a, b] = [row[chosen], row[rejected]]
    const [one, two] = [chatIn(a), chatIn(b)]
    if (one === null || two === null)
      return typeof a === 'string' && typeof b === 'string' && isDialogue(a) && isDialogue(b)
    return one.length > 1 && JSON.stringify(one[0]) === JSON.stringify(two[0]) && one[0]?.role !== 'assistant'
  })
  return columns.rows.length > 0 && 2 * sharing.length >= columns.rows.length
}
