/** Names what the columns hold that no proposal reads, in the words used for it. */
import { answerColumns } from '#shared/api/datasets.ts'

/** Part → the words; null where the column's name says it. */
export const partWords = {
  system: 'instructions for the model',
  turns: 'earlier turns',
  about: 'what the question is about',
  hint: 'a hint',
  input: 'what the instruction is about',
  choices: 'the possible answers',
  choice: 'a possible answer',
  steps: 'the steps before both answers, which belong to the prompt',
  images: 'images; only text is read',
  sound: 'sound; only text is read',
  videos: 'videos; only text is read',
  tools: 'functions that the model may call: `data.tools` of a run offers them',
  switches: 'variables of the chat template, which gets them row by row where the prompt is messages',
  weight: 'how much a row counts',
  margin: 'by how much an answer is better',
  rating: 'how good an answer is',
  number: 'a number about an answer',
  comparison: 'which answer is better',
  order: 'an order of answers',
  marks: 'which answers are good',
  label: 'a class, a position or a mark',
  language: 'a language',
  better: 'better answers',
  worse: 'worse answers',
  'better-whole': 'better answers as a whole',
  'worse-whole': 'worse answers as a whole',
  solution: 'a solution',
  answer: null,
  question: null,
  text: null,
} as const

export type Part = keyof typeof partWords

/** Parts that a prompt may be made of besides its question. */
export const promptParts: readonly Part[] = [
  'system',
  'turns',
  'about',
  'hint',
  'input',
  'choices',
  'choice',
  'steps',
]

/** Step-DPO's steps that both answers go on from. */
export const stepsName = 'initial_reason_steps'

/** Names of answers that rewards compare with. */
export const expectedNames: readonly string[] = [...answerColumns, 'reference_answer', 'expected_answer']

export const partsNamed = (part: Part, names: readonly string[]): Readonly<Record<string, Part>> =>
  Object.fromEntries(names.map((name) => [name, part]))
