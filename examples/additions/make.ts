/** Writes the rows of this example, additions of two numbers from 2 to 60, each once: node examples/additions/make.ts */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const [least, most, heldOut, train] = [2, 60, 64, 512]
const numbers = Array.from({ length: most - least + 1 }, (_, i) => least + i)
const pairs = numbers.flatMap((a) => numbers.map((b) => [a, b] as const))
const rows = new SequentialRandom(randomStream(1))
  .shuffled(pairs)
  .map(([a, b]) => JSON.stringify({ question: `${a} + ${b}`, answer: String(a + b) }))

const write = (name: string, lines: readonly string[]): void =>
  writeFileSync(fileURLToPath(new URL(name, import.meta.url)), `${lines.join('\n')}\n`)

write('heldout.jsonl', rows.slice(0, heldOut))
write('train.jsonl', rows.slice(heldOut, heldOut + train))
