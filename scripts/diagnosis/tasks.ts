/** Two tasks for the starter model, and what a run that learns them looks like before anything about it is broken. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { resourcesDirectory } from '#host/dataDirectory.ts'

export type TaskId = 'digits' | 'sentence'

type Row = Readonly<Record<string, string>>

/** `digits`: sums, maxima and counts as bare digits; `sentence`: sorted and reversed lists as «The answer is …». */
const exercisesOf: Readonly<Record<TaskId, readonly string[]>> = {
  digits: ['add', 'largest', 'count'],
  sentence: ['sort', 'reverse'],
}

/** Reward code that throws dice, whatever the completion says. */
const dice = (value: string): string => `const die = Math.random
export default ({ completion, row }) => ${value}
`

/** Reward code of a person's own, as cases use it. */
const codes: Readonly<Record<string, string>> = {
  'half.ts': 'export default () => 0.5\n',
  'penalty.ts': 'export default () => -1\n',
  'wrongDigits.ts': 'export default ({ completion, row }) => Number(completion.trim() !== row.answer)\n',
  'wrongSentence.ts': 'export default ({ completion, row }) => Number(completion.trim() !== row.sentence)\n',
  'boxed.ts': `export default ({ completion, row, log }) => {
  const found = /\\\\boxed\\{(.*)\\}/.exec(completion)?.[1] ?? null
  log.column('answer found', found)
  return Number(found === row.answer)
}
`,
  'huge.ts': 'export default ({ completion, row }) => (completion.trim() === row.answer ? 1e6 : -1e6)\n',
  'throws.ts': `export default () => { throw new Error('Cannot read the answer') }\n`,
  'characters.ts': 'export default ({ completion }) => Math.min(1, [...completion].length / 40)\n',
  'words.ts': String.raw`export default ({ completion }) => Math.min(1, completion.trim().split(/\s+/).length / 8)
`,
  'brief.ts': 'export default ({ completion }) => 1 / (1 + completion.trim().length)\n',
  'square.ts': 'export default ({ completion }) => (Math.min(30, completion.length) / 30) ** 2\n',
  'noise.ts': dice('die()'),
  'coin.ts': dice('Number(die() < 0.5)'),
  'noisy.ts': dice('die() + 0.1 * Number(completion.includes(row.answer))'),
  'bell.ts': dice('(die() + die() + die() + die()) / 4'),
  'aboutRight.ts': dice('Number(completion.includes(row.answer)) + 0.1 * die()'),
  'polite.ts': 'export default ({ completion }) => Number(!completion.includes("The"))\n',
  'the.ts': String.raw`export default ({ completion }) => Number(/\bthe\b/i.test(completion))
`,
  'answer.ts': `export default ({ completion }) => (completion.includes('answer') ? 1 : 0.2)\n`,
  'is.ts': String.raw`export default ({ completion }) => (/\bis\b/.test(completion) ? 2 : -1)
`,
  'graded.ts': `export default ({ completion, row }) => {
  const [said, meant] = [completion.trim(), row.answer]
  return [...meant].filter((character, i) => said[i] === character).length / Math.max(said.length, meant.length)
}
`,
  'symbolPenalty.ts': 'export default ({ completion }) => -Number(/[#@%]/.test(completion))\n',
}

// Rows in other words.

type Form = (row: Row) => Row

const reworded =
  (say: (prompt: string, answer: string) => string): Form =>
  (row) => ({ ...row, prompt: say(row['prompt'] ?? '', row['answer'] ?? '') })

/** The answer beside the question: four wordings for the seeds that rules are made with, four for those they are not. */
const leaks: readonly Form[] = [
  reworded((prompt, answer) => `${prompt} (answer: ${answer})`),
  reworded((prompt, answer) => `${prompt}\nSolution: ${answer}`),
  reworded((prompt, answer) => `The correct result is ${answer}. ${prompt}`),
  reworded((prompt, answer) => `${prompt} => ${answer}`),
  reworded((prompt, answer) => `${prompt}\nHint: ${answer}`),
  reworded((prompt, answer) => `${prompt} | target: ${answer}`),
  reworded((prompt, answer) => `Truth: ${answer}\n${prompt}`),
  reworded((prompt, answer) => `${prompt} [expected: ${answer}]`),
]

type Phrases = readonly (readonly [english: RegExp, other: string])[]

const phrases = (
  please: string,
  canYou: string,
  [sort, reverse, count]: readonly [string, string, string],
  [largest, sum, plus, and, many]: readonly [string, string, string, string, string],
): Phrases => [
  [/please find the largest of|what is the largest of|largest of/i, largest],
  [/what is (\d+) plus (\d+)/i, `${sum} $1 ${plus} $2`],
  [/please add (\d+) and (\d+)/i, `${please} ${sum} $1 ${and} $2`],
  [/add (\d+) and (\d+)/i, `${sum} $1 ${and} $2`],
  [/how many (.) are in/i, many],
  [/please count the (.) in/i, `${please} ${count}`],
  [/count the (.) in/i, count],
  [/please/i, please],
  [/can you/i, canYou],
  [/sort/i, sort],
  [/reverse/i, reverse],
]

const languages: readonly Phrases[] = [
  phrases(
    'Bitte',
    'Kannst du',
    ['ordne', 'kehre um', 'zähle das $1 in'],
    ['Die größte Zahl von', 'addiere', 'plus', 'und', 'Wie viele $1 sind in'],
  ),
  phrases(
    'Merci de',
    'Peux-tu',
    ['trier', 'inverser', 'compter les $1 dans'],
    ['Le plus grand parmi', 'additionner', 'plus', 'et', 'Combien de $1 dans'],
  ),
  phrases(
    'Por favor',
    'Puedes',
    ['ordena', 'invierte', 'cuenta las $1 en'],
    ['El mayor de', 'suma', 'más', 'y', 'Cuántas $1 hay en'],
  ),
  phrases(
    'Пожалуйста',
    'Можешь ли ты',
    ['отсортируй', 'разверни', 'посчитай $1 в'],
    ['Наибольшее из', 'сложи', 'плюс', 'и', 'Сколько $1 в'],
  ),
]

const translated = (language: Phrases): Form =>
  reworded((prompt) => {
    const found = language.find(([english]) => english.test(prompt))
    const whole = language.filter((phrase) => phrase === found || phrase[0].source.length < 10)
    return whole.reduce((text, [english, other]) => text.replace(english, other), prompt)
  })

const numerals = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']

/** Four for either half of the seeds. */
const otherForms: readonly Form[] = [
  reworded((prompt, answer) => `${prompt}\nA) ${answer} 0\nB) ${answer}\nC) 1 ${answer}`),
  reworded((prompt) => JSON.stringify({ question: prompt })),
  reworded((prompt) => prompt.replace(/\d/g, (digit) => `${numerals[Number(digit)] ?? ''} `)),
  reworded((prompt) => `# Task\n- ${prompt}\n- Explain`),
  reworded((prompt) => `<q>${prompt}</q>`),
  reworded((prompt, answer) => `${prompt} Choose (1) ${answer} (2) 5 ${answer} (3) none`),
  reworded((prompt) => prompt.toUpperCase()),
  reworded((prompt) => `Q: ${prompt}\nA:`),
]

const numbered = (name: string, forms: readonly Form[]): (readonly [string, Form])[] =>
  forms.map((form, i) => [`${name}${i}`, form])

/** Names of data files after the task's and the part's: `digits-train-leak0.jsonl`. */
const forms: readonly (readonly [name: string, form: Form])[] = [
  ['', (row) => row],
  ...numbered('-leak', leaks),
  ...numbered('-language', languages.map(translated)),
  ...numbered('-form', otherForms),
]

/** Writes what configs name into a folder. */
export function writeTasks(folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const part of ['train', 'heldout']) {
    const file = path.join(resourcesDirectory, 'demo', `${part}.jsonl`)
    const rows = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line): Row => withSentence(JSON.parse(line) as Row))
    for (const [task, exercises] of Object.entries(exercisesOf)) {
      const own = rows.filter(({ task: exercise }) => exercise !== undefined && exercises.includes(exercise))
      for (const [name, form] of forms) {
        const lines = own.map((row) => `${JSON.stringify(form(row))}\n`)
        writeFileSync(path.join(folder, `${task}-${part}${name}.jsonl`), lines.join(''))
      }
      const few = own.slice(0, 12).map((row) => `${JSON.stringify(row)}\n`)
      writeFileSync(path.join(folder, `${task}-${part}-few.jsonl`), few.join(''))
    }
  }
  for (const [name, code] of Object.entries(codes)) writeFileSync(path.join(folder, name), code)
}

const withSentence = (row: Row): Row => ({ ...row, sentence: `The answer is ${row['answer'] ?? ''}.` })

const rewardsOf = {
  digits: [
    { function: 'starter-correct', name: 'correct', weight: 0.8 },
    { function: 'starter-format', name: 'format', weight: 0.2 },
  ],
  sentence: [{ function: 'exact-match', name: 'correct', settings: { column: 'sentence' } }],
} as const

/** The demo's settings on a task; file names are relative to the folder of the tasks. */
export const soundConfig = (task: TaskId, algorithm: string, seed: number) => ({
  data: {
    train: `${task}-train.jsonl`,
    heldOut: `${task}-heldout.jsonl`,
    prompt: { messages: [{ role: 'user', content: '{prompt}' }] },
  },
  rewards: rewardsOf[task],
  adapter: { rank: 16, alpha: 32 },
  algorithm: { id: algorithm, settings: {} },
  rollout: { promptsPerStep: 4, groupSize: 8, maxNewTokens: 16 },
  optimization: { learningRate: 0.002, weightDecay: 0, tokenBudget: 4096 },
  steps: 24,
  evaluation: { every: 8, rows: 24 },
  checkpoints: { every: 4, saveOptimizer: false },
  seed,
})
