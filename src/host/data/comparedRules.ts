/** Recognises answers that are compared with each other: two columns and what prefers one of them, or a list in an order. */
import { isChatKind } from '#shared/columnKind.ts'
import { betterOf, listIn, numberIn, rankedEntries, type Judge } from './comparisons.ts'
import { type Columns, columnsNamed, isPromptKind, plainName } from './columnKinds.ts'
import type { Mapping } from './mapping.ts'
import { asPrompt, chatStep, promptNames, systemBeside } from './promptParts.ts'
import type { Proposal } from './proposal.ts'

/** response_1, responseA, conversation_b, model_answer_0, human_ref_A; A */
const answerName =
  /^(?<base>(?:\w+_)?(?:response|answer|completion|output|conversation|generation|reply|ref)|(?=[a-h]$))_?(?<mark>[a-h\d])$/
const marks: readonly (readonly [string, string])[] = [
  ['a', 'b'],
  ['0', '1'],
  ['1', '2'],
]

export interface TwoAnswers {
  readonly columns: readonly [string, string]
  readonly marks: readonly [string, string]
}

/**
 * Finds two columns of answers whose names differ in a mark alone; null where there are none, or more than two of a
 * kind.
 */
export function twoAnswers(columns: Columns): TwoAnswers | null {
  const groups = new Map<string, Map<string, string>>()
  for (const column of columns.kinds.keys()) {
    const { base = '', mark = '' } = answerName.exec(plainName(column))?.groups ?? {}
    if (mark === '' || !isPromptKind(columns.kind(column))) continue
    groups.set(base, (groups.get(base) ?? new Map<string, string>()).set(mark, column))
  }
  const found = [...groups.values()].map(twoOf).filter((two) => two !== null)
  const isChat = (column: string) => isChatKind(columns.kind(column))
  return found.find(({ columns: [first, second] }) => isChat(first) === isChat(second)) ?? null
}

function twoOf(group: ReadonlyMap<string, string>): TwoAnswers | null {
  for (const [first, second] of marks) {
    const [one, two] = [group.get(first), group.get(second)]
    if (group.size === 2 && one !== undefined && two !== undefined)
      return { columns: [one, two], marks: [first, second] }
  }
  return null
}

const names = {
  /** Columns that hold the mark of the better answer. */
  better:
    /^(?:winner|winning_model|better|best|preferred|chosen|choice|preference|label|(?:better|best|preferred|chosen|safer)_(?:response|answer|completion|output|model)(?:_id|_index)?)$/,
  /** Names under which a bare number may as well mean something else, */
  vague: /^(?:preference|label)$/,
  /** but not where both marks of the columns stand there, and at most what says that neither is better. */
  marked: /^preference$/,
  /** Columns that hold how much better the second answer is, negative where the first is. */
  sign: /^(?:preference_strength|overall_preference)$/,
  higher: /^(?:winner|winner_model|(?:\w+_)?(?:score|rating|reward))$/,
  lower: /^(?:\w+_)?rank$/,
  neither: /^(?:tie|tied|draw|both|neither|none|equal|same)|\b(?:tie|bothbad)\b/i,
}

interface Judged {
  readonly by: Judge
  readonly columns: readonly string[]
}

/** Lists all ways in which other columns say which answer is better; a value that is not understood counts as none. */
function judgesOf(columns: Columns, answers: TwoAnswers): Judged[] {
  const found = [...columns.kinds.keys()].flatMap((column): Judged[] => {
    const by = answers.columns.includes(column) ? null : judgeIn(columns, column, answers)
    return by === null
      ? []
      : [{ by, columns: 'column' in by ? [by.column] : 'sign' in by ? [by.sign] : Object.values(by).flat() }]
  })
  return found.toSorted((a, b) => standing(a) - standing(b))
}

/** Ranks a judge: a named answer counts before numbers about both, what is better before what is safer. */
function standing({ by, columns: [name = ''] }: Judged): number {
  if (plainName(name).startsWith('safer')) return 2
  return 'column' in by ? 0 : 1
}

function judgeIn(columns: Columns, column: string, answers: TwoAnswers): Judge | null {
  const plain = plainName(column)
  if (names.better.test(plain)) return namingJudge(columns, column, answers)
  const values = columns.values(column)
  const isNumber = values.length > 0 && values.every((value) => numberIn(value) !== null)
  if (!isNumber) return null
  if (names.sign.test(plain)) return answers.marks[0] === '1' ? { sign: column } : null
  return numberJudge(columns, column, answers.marks)
}

/** A number for each answer, judged at the column of the first. */
function numberJudge(columns: Columns, column: string, [first, second]: TwoAnswers['marks']): Judge | null {
  const plain = plainName(column)
  const base = plain.endsWith(first) ? plain.slice(0, -first.length).replace(/_$/, '') : ''
  const other = columns.find([`${base}_${second}`, `${base}${second}`])
  if (other === undefined) return null
  if (names.lower.test(base)) return { lower: [column, other] }
  return names.higher.test(base) ? { higher: [column, other] } : null
}

/**
 * Builds a judge from values such as model_a and model_b, or 0 and 1 where the columns are called so; others must say
 * that neither is better.
 */
function namingJudge(columns: Columns, column: string, { marks: [first, second] }: TwoAnswers): Judge | null {
  const said = [...new Set(columns.values(column).map(String))]
  const markIn = (value: string) => /(?:^|[_\s-])([ab\d])$/i.exec(value.trim())?.[1]?.toLowerCase()
  const naming = said.filter((value) => markIn(value) !== undefined)
  if (naming.length === 0 || isVague(plainName(column), naming, [first, second])) return null
  const isOther = (value: string) => markIn(value) === undefined && value !== '' && !names.neither.test(value)
  if (said.some(isOther) || naming.some((value) => ![first, second].includes(markIn(value) ?? '')))
    return null
  const [seen = ''] = naming
  const written = (mark: string) =>
    naming.find((value) => markIn(value) === mark) ??
    seen.replace(/.$/, /[A-Z]$/.test(seen) ? mark.toUpperCase() : mark)
  return naming.length > 2 ? null : { column, first: written(first), second: written(second) }
}

/** Returns true if bare numbers in a column of this name may mean something else than the mark of the better answer. */
function isVague(plain: string, naming: readonly string[], both: TwoAnswers['marks']): boolean {
  const isBare = naming.some((value) => /^-?\d+$/.test(value))
  if (!isBare || !names.vague.test(plain)) return false
  return !names.marked.test(plain) || !both.every((mark) => naming.includes(mark))
}

export function comparedAnswers(columns: Columns): Proposal | null {
  const answers = twoAnswers(columns)
  const [judge, ...others] = answers === null ? [] : judgesOf(columns, answers)
  if (answers === null || judge === undefined) return null
  const [first, second] = answers.columns
  const pair: Mapping = [
    ...answers.columns.flatMap((column) => chatStep(columns, column)),
    { kind: 'compare', answers: [first, second], by: judge.by },
  ]
  const read = [first, second, ...judge.columns]
  const used = [...read, ...others.flatMap(({ columns: named }) => named)]
  const said = {
    evidence: columnsNamed(...read),
    used,
    doubts: [...judgeDoubts(columns, answers, [judge, ...others])],
  }
  const system = systemBeside(columns, first)
  if (isChatKind(columns.kind(first)) && beginAlike(columns, answers))
    return {
      ...said,
      isConversational: true,
      prompt: { column: 'prompt' },
      answer: null,
      mapping: [...pair, { kind: 'shared-prompt' }, ...system.mapping],
      used: [...used, ...system.used],
    }
  return withPrompt(columns, said, { pair, read })
}

/** Adds the prompt that the answers belong to. */
function withPrompt(
  columns: Columns,
  said: Pick<Proposal, 'evidence' | 'used' | 'doubts'>,
  { pair, read }: { readonly pair: Mapping; readonly read: readonly string[] },
): Proposal {
  const from = columns.find([...promptNames, 'context', 'history'], isPromptKind)
  if (from === undefined)
    return {
      ...said,
      isConversational: false,
      prompt: null,
      answer: null,
      mapping: pair,
      doubts: [...said.doubts, `No column holds the prompt to these answers.`],
    }
  const { mapping, used, isConversational } = asPrompt(columns, from)
  return {
    ...said,
    isConversational,
    prompt: { column: 'prompt' },
    answer: null,
    used: [...said.used, ...used],
    mapping: [...pair, ...mapping],
    evidence: columnsNamed(from, ...read),
  }
}

const beginAlike = (columns: Columns, { columns: [first, second] }: TwoAnswers): boolean => {
  const opening = (value: unknown) => JSON.stringify(listIn(value)?.[0] ?? null)
  const alike = columns.rows.filter(
    (row) => listIn(row[first]) !== null && opening(row[first]) === opening(row[second]),
  )
  return 2 * alike.length >= columns.rows.length
}

/** Says how the judge was understood, how many rows it decides, and where another disagrees. */
function judgeDoubts(
  columns: Columns,
  answers: TwoAnswers,
  [judge, ...others]: readonly [Judged, ...Judged[]],
): string[] {
  const { rows } = columns
  const decided = rows.map((row) => betterOf(row, judge.by))
  const open = decided.filter((better) => typeof better === 'string').length
  const [first, second] = answers.columns
  return [
    ...('column' in judge.by && names.vague.test(plainName(judge.by.column))
      ? [
          `“${judge.by.column}” is read as naming the better answer: ${judge.by.first} is “${first}”, ${judge.by.second} is “${second}”.`,
        ]
      : []),
    ...('lower' in judge.by
      ? [`The answer with the lower number in ${namesOf(judge.by.lower)} is read as the better one.`]
      : []),
    ...('higher' in judge.by
      ? [`The answer with the higher number in ${namesOf(judge.by.higher)} is read as the better one.`]
      : []),
    ...('sign' in judge.by
      ? [
          `Negative numbers in “${judge.by.sign}” are read as “${first}” being better, positive ones as “${second}”.`,
        ]
      : []),
    ...(open === 0
      ? []
      : [
          `In ${open} of the first ${rows.length} rows neither answer is preferred; they are left out when the columns are mapped.`,
        ]),
    ...others.flatMap(({ by, columns: named }) => {
      const against = rows.filter((row, at) => {
        const better = betterOf(row, by)
        return typeof better === 'number' && typeof decided[at] === 'number' && better !== decided[at]
      }).length
      const names = named.map((name) => `“${name}”`).join(' and ')
      return [
        `${names} also ${named.length === 1 ? 'compares' : 'compare'} the answers and ${named.length === 1 ? 'disagrees' : 'disagree'} in ${against} of the first ${rows.length} rows; not used.`,
      ]
    }),
  ]
}

const namesOf = (columns: readonly string[]): string => columns.map((name) => `“${name}”`).join(' and ')

export const listNames = ['answers', 'responses', 'completions', 'generations', 'candidates', 'outputs']
const textFields = ['answer', 'response', 'text', 'completion', 'content', 'output']
const orders = [
  { best: 'lowest', names: ['rank'] },
  { best: 'highest', names: ['overall_score', 'score', 'rating', 'reward'] },
] as const
const listsOfMarks = ['ratings', 'scores', 'rewards', 'ranks', 'rank']

/**
 * Proposes to read Nectar's ranked answers, UltraFeedback's with scores, or generations with a list of ratings beside
 * them.
 */
export function rankedAnswers(columns: Columns): Proposal | null {
  const prompt = columns.find(promptNames, isPromptKind)
  const column = columns.find(listNames, (kind) => kind === 'list' || kind === 'texts' || kind === 'text')
  const order = column === undefined ? null : orderOf(columns, column)
  if (prompt === undefined || column === undefined || order === null) return null
  const { mapping, used, isConversational } = asPrompt(columns, prompt)
  const beside = order.text === null ? [order.by] : []
  return {
    evidence: `${columnsNamed(prompt, column, ...beside)}${order.text === null ? '' : `, whose entries have “${order.text}” and “${order.by}”`}`,
    isConversational,
    prompt: { column: 'prompt' },
    answer: null,
    used: [...used, column, ...beside],
    mapping: [{ kind: 'ranked', column, ...order }, ...mapping],
    doubts: [
      `The answer with the ${order.best} “${order.by}” is taken as chosen, the one with the ${order.best === 'highest' ? 'lowest' : 'highest'} as rejected; those between are not used.`,
    ],
  }
}

interface Order {
  readonly text: string | null
  readonly by: string
  readonly best: 'highest' | 'lowest'
}

function orderOf(columns: Columns, column: string): Order | null {
  const beside = columns.find(listsOfMarks)
  const inEntries = textFields.flatMap((text) =>
    orders.flatMap(({ best, names: fields }) => fields.map((by): Order => ({ text, by, best }))),
  )
  const inColumn: Order[] =
    beside === undefined
      ? []
      : [{ text: null, by: beside, best: plainName(beside).startsWith('rank') ? 'lowest' : 'highest' }]
  const isRead = (order: Order) =>
    columns.rows.filter((row) => (rankedEntries(row, { column, ...order })?.length ?? 0) > 1).length
  const isMost = (order: Order) => columns.rows.length > 0 && 2 * isRead(order) >= columns.rows.length
  return [...inEntries, ...inColumn].find(isMost) ?? null
}
