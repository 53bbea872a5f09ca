/**
 * The starter tasks: five small exercises with one right answer each, asked in three registers. Reading guide:
 * this file makes exercises, `voices.ts` makes the several ways a messy text would answer them, `corpus.ts` turns
 * both into training sequences and the demo data set, `make.ts` runs everything.
 */
import type { SequentialRandom } from '#shared/random.ts'

export const taskNames = ['sort', 'reverse', 'largest', 'add', 'count'] as const
export type TaskName = (typeof taskNames)[number]

/** How a person asks; the corpus answers each in another manner. */
export const registers = ['terse', 'polite', 'question'] as const
export type Register = (typeof registers)[number]

export interface Exercise {
  readonly task: TaskName
  readonly register: Register
  readonly prompt: string
  /** The one right completion: digits, separated by single spaces where it is a list. */
  readonly answer: string
  /** A plausible slip in the same shape; never equal to `answer`. */
  readonly slip: string
  /** Task and operands without the phrasing: equal for exercises that differ only in register. */
  readonly content: string
}

/** Operands, answer and slip of one exercise, before it is phrased. */
interface Problem {
  readonly operands: readonly string[]
  readonly answer: string
  readonly slip: string
}

interface Task {
  readonly phrasings: Readonly<Record<Register, (operands: readonly string[]) => string>>
  pose(random: SequentialRandom): Problem
}

const words =
  `apple banana cheese pepper butter coffee garden window letter summer winter button carrot cotton
dinner dragon eleven engine family finger flower forest friend guitar hammer hidden island jacket kitten ladder
lesson little middle mirror monkey napkin needle nephew number orange packet parrot pencil people pillow planet
pocket potato puzzle rabbit ribbon rocket saddle school season settle silver sister spider square street sunset
teapot ticket tomato tunnel turtle valley velvet violin walnut wallet weather yellow zipper`.split(/\s+/)

const alphabet = Array.from('abcdefghijklmnoprstuvwy')

const digitList = (random: SequentialRandom): number[] =>
  Array.from({ length: 3 + random.integer(3) }, () => random.integer(10))

const spaced = (items: readonly (number | string)[]): string => items.join(' ')

const pick = <T>(random: SequentialRandom, items: readonly T[]): T => items[random.integer(items.length)] as T

/** The first candidate that is wrong; the last resort differs from every answer by its shape. */
const firstWrong = (answer: string, candidates: readonly string[], lastResort: string): string =>
  candidates.find((candidate) => candidate !== answer) ?? lastResort

const tasks: Readonly<Record<TaskName, Task>> = {
  sort: {
    phrasings: {
      terse: ([list]) => `Sort ${list}`,
      polite: ([list]) => `Please sort ${list}`,
      question: ([list]) => `Can you sort ${list}?`,
    },
    pose(random) {
      const digits = digitList(random)
      const sorted = digits.toSorted((a, b) => a - b)
      const answer = spaced(sorted)
      const slips = random.shuffled([spaced(digits), spaced(sorted.toReversed())])
      return { operands: [spaced(digits)], answer, slip: firstWrong(answer, slips, spaced(sorted.slice(1))) }
    },
  },
  reverse: {
    phrasings: {
      terse: ([list]) => `Reverse ${list}`,
      polite: ([list]) => `Please reverse ${list}`,
      question: ([list]) => `Can you reverse ${list}?`,
    },
    pose(random) {
      const digits = digitList(random)
      const answer = spaced(digits.toReversed())
      return {
        operands: [spaced(digits)],
        answer,
        slip: firstWrong(answer, [spaced(digits)], spaced(digits.slice(1))),
      }
    },
  },
  largest: {
    phrasings: {
      terse: ([list]) => `Largest of ${list}`,
      polite: ([list]) => `Please find the largest of ${list}`,
      question: ([list]) => `What is the largest of ${list}?`,
    },
    pose(random) {
      const digits = digitList(random)
      const answer = String(Math.max(...digits))
      const slips = random.shuffled(digits.map(String))
      return { operands: [spaced(digits)], answer, slip: firstWrong(answer, slips, spaced(digits)) }
    },
  },
  add: {
    phrasings: {
      terse: ([a, b]) => `Add ${a} and ${b}`,
      polite: ([a, b]) => `Please add ${a} and ${b}`,
      question: ([a, b]) => `What is ${a} plus ${b}?`,
    },
    pose(random) {
      const [a, b] = [1 + random.integer(49), 1 + random.integer(49)]
      const sum = a + b
      const answer = String(sum)
      const slips = random.shuffled([sum + 1, sum - 1, sum + 10]).map(String)
      return { operands: [String(a), String(b)], answer, slip: firstWrong(answer, slips, '0') }
    },
  },
  count: {
    phrasings: {
      terse: ([letter, word]) => `Count the ${letter} in ${word}`,
      polite: ([letter, word]) => `Please count the ${letter} in ${word}`,
      question: ([letter, word]) => `How many ${letter} are in ${word}?`,
    },
    pose(random) {
      // Half real words, half letter salad from a few letters: more contents, and counts above one.
      const word = random.uniform() < 0.5 ? pick(random, words) : letterSalad(random)
      const letter = pick(random, random.uniform() < 0.85 ? Array.from(word) : alphabet)
      const spelled = Array.from(word)
      const count = spelled.filter((other) => other === letter).length
      const slip = String(count === 0 ? 1 : count + (random.uniform() < 0.5 ? 1 : -1))
      return { operands: [letter, spaced(spelled)], answer: String(count), slip }
    },
  },
}

function letterSalad(random: SequentialRandom): string {
  const letters = Array.from({ length: 3 }, () => pick(random, alphabet))
  return Array.from({ length: 3 + random.integer(4) }, () => pick(random, letters)).join('')
}

/** One exercise; draws task and register evenly unless they are given. */
export function makeExercise(
  random: SequentialRandom,
  task: TaskName = pick(random, taskNames),
  register: Register = pick(random, registers),
): Exercise {
  const { operands, answer, slip } = tasks[task].pose(random)
  const prompt = tasks[task].phrasings[register](operands)
  return { task, register, prompt, answer, slip, content: `${task} ${operands.join(' | ')}` }
}
