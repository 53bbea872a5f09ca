/**
 * Makes resources/demo/preferences.jsonl and preferences-heldout.jsonl from the demo's rows:
 *
 *   node scripts/algorithms/demoPreferences.ts
 *
 * The chosen answer is the bare right one; the rejected one is what the starter model often says instead: the right answer
 * in a sentence or in words, or a wrong one in the right form.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { numberInWords } from '../starter/voices.ts'

const demo = path.join(import.meta.dirname, '../../resources/demo')
const seed = 17
const trainRows = 480
const heldOutRows = 100

interface Row {
  readonly prompt: string
  readonly answer: string
  readonly task: string
}

const rowsOf = (name: string): Row[] =>
  readFileSync(path.join(demo, name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)

const manners: readonly ((answer: string, random: SequentialRandom) => string)[] = [
  (answer) => `The answer is ${answer}.`,
  (answer) =>
    answer
      .split(' ')
      .map((part) => numberInWords(Number(part)))
      .join(' '),
  withAnotherDigit,
]

function withAnotherDigit(answer: string, random: SequentialRandom): string {
  const places = [...answer].flatMap((letter, at) => (letter === ' ' ? [] : [at]))
  const place = places[random.integer(places.length)] ?? 0
  const other = (Number(answer[place]) + 1 + random.integer(9)) % 10
  return `${answer.slice(0, place)}${other}${answer.slice(place + 1)}`
}

function withPreference({ prompt, answer, task }: Row, row: number, purpose: number) {
  const random = new SequentialRandom(randomStream(seed, purpose, row))
  const manner = manners[random.integer(manners.length)] ?? withAnotherDigit
  return { prompt, chosen: answer, rejected: manner(answer, random), answer, task }
}

const files = [
  { from: 'train.jsonl', to: 'preferences.jsonl', rows: trainRows },
  { from: 'heldout.jsonl', to: 'preferences-heldout.jsonl', rows: heldOutRows },
]

files.forEach(({ from, to, rows }, purpose) => {
  const lines = rowsOf(from)
    .slice(0, rows)
    .map((row, i) => `${JSON.stringify(withPreference(row, i, purpose))}\n`)
  writeFileAtomic(path.join(demo, to), lines.join(''))
})
