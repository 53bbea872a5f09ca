import type { SequentialRandom } from '#shared/random.ts'
import type { Exercise, Register } from './exercises.ts'

/**
 * The manners of answering found in the corpus. Only `plain` is what the demo rewards; the others are what a model
 * that imitates mixed text has to unlearn.
 */
export const voices = ['plain', 'chatty', 'wordy', 'careless'] as const
export type Voice = (typeof voices)[number]

/**
 * How often each register is answered in each voice. In every register `plain` is frequent enough that eight
 * samples nearly always hold one, and only in the terse one is it the most frequent: so the greedy completion of
 * the pretrained model is right about one time in three, with margins wide enough to survive another seed.
 */
const shares: Readonly<Record<Register, Readonly<Record<Voice, number>>>> = {
  terse: { plain: 0.5, chatty: 0.14, wordy: 0.14, careless: 0.22 },
  polite: { plain: 0.26, chatty: 0.46, wordy: 0.12, careless: 0.16 },
  question: { plain: 0.26, chatty: 0.14, wordy: 0.46, careless: 0.14 },
}

const ones =
  `zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen`.split(/\s+/)
const tens = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']

/** 0 ≤ value < 100 in English words, without hyphens. */
export function numberInWords(value: number): string {
  if (value < 20) return ones[value] ?? ''
  const rest = value % 10
  return `${tens[Math.floor(value / 10)] ?? ''}${rest === 0 ? '' : ` ${ones[rest] ?? ''}`}`
}

const speak: Readonly<Record<Voice, (exercise: Exercise) => string>> = {
  plain: ({ answer }) => answer,
  careless: ({ slip }) => slip,
  wordy: ({ answer }) =>
    answer
      .split(' ')
      .map((part) => numberInWords(Number(part)))
      .join(' '),
  chatty: ({ answer }) => `The answer is ${answer}.`,
}

/** A completion as the corpus has it: a voice drawn for the register, then the exercise in that voice. */
export function answerInSomeVoice(exercise: Exercise, random: SequentialRandom): string {
  let left = random.uniform()
  for (const voice of voices) {
    left -= shares[exercise.register][voice]
    if (left < 0) return speak[voice](exercise)
  }
  return exercise.answer
}
