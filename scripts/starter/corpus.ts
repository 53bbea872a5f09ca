import type { TokenSequence } from '#engine/policy.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { makeExercise, registers, taskNames, type Exercise } from './exercises.ts'
import { answerInSomeVoice } from './voices.ts'

/** Addresses of the random streams, so that no two parts of the data share numbers. */
const streams = { heldout: 1, train: 2, pretraining: 3 }

/** A row of the demo data set. */
export interface DemoRow {
  readonly prompt: string
  readonly answer: string
  readonly task: string
}

export interface DemoData {
  readonly train: readonly DemoRow[]
  readonly heldout: readonly DemoRow[]
  /** Contents of the held-out exercises: neither `train` nor the pretraining corpus holds them in any register. */
  readonly heldoutContents: ReadonlySet<string>
}

/** Rows in equal shares of task and register, no content twice within a part, none in both. */
export function makeDemoData(seed: number, sizes: { train: number; heldout: number }): DemoData {
  const heldoutContents = new Set<string>()
  const heldout = distinctRows(seed, streams.heldout, sizes.heldout, heldoutContents)
  const train = distinctRows(seed, streams.train, sizes.train, new Set(heldoutContents))
  return { train, heldout, heldoutContents }
}

function distinctRows(seed: number, stream: number, count: number, taken: Set<string>): DemoRow[] {
  const random = new SequentialRandom(randomStream(seed, stream))
  const rows: DemoRow[] = []
  while (rows.length < count) {
    const task = taskNames[rows.length % taskNames.length]
    const register = registers[Math.floor(rows.length / taskNames.length) % registers.length]
    const exercise = makeExercise(random, task, register)
    if (taken.has(exercise.content)) continue
    taken.add(exercise.content)
    rows.push({ prompt: exercise.prompt, answer: exercise.answer, task: exercise.task })
  }
  return random.shuffled(rows)
}

/** One conversation of the corpus: what was asked, what the text answers. */
export interface Conversation {
  readonly exercise: Exercise
  readonly completion: string
}

/** Endless pretraining conversations; the i-th is the same in every process. */
export function* conversations(
  seed: number,
  heldoutContents: ReadonlySet<string>,
): Generator<Conversation, never> {
  const random = new SequentialRandom(randomStream(seed, streams.pretraining))
  for (;;) {
    const exercise = makeExercise(random)
    if (heldoutContents.has(exercise.content)) continue
    yield { exercise, completion: answerInSomeVoice(exercise, random) }
  }
}

/** What `tokenSequence` needs of a tokenizer and a chat template. */
export interface ConversationEncoder {
  /** Ids of the user's turn up to and including the assistant's opening token. */
  prompt(text: string): Int32Array
  /** Ids of the assistant's turn, its end token included. */
  completion(text: string): Int32Array
}

/** The conversation as tokens; only the completion is learned, since the operands of a prompt are pure chance. */
export function tokenSequence(
  encoder: ConversationEncoder,
  { exercise, completion }: Conversation,
): TokenSequence {
  const [prompt, answer] = [encoder.prompt(exercise.prompt), encoder.completion(completion)]
  const ids = Int32Array.of(...prompt, ...answer)
  const actionMask = new Uint8Array(ids.length - 1).fill(1, prompt.length - 1)
  return { ids, actionMask }
}
