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
  'symbolPenalty.ts': 'export default ({ completion }) => -Number(/[#@%]/.test(completion))\n',
}

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
      const lines = own.map((row) => `${JSON.stringify(row)}\n`)
      writeFileSync(path.join(folder, `${task}-${part}.jsonl`), lines.join(''))
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
