/** Speed of reward code in the sandbox: 10,000 calls of a typical reward. Run with `node bench/host/sandbox.ts`. */
import { openSandbox } from '#host/sandbox/sandbox.ts'

const code = `
export default function reward({ completion, row, log }: { completion: string; row: { answer: string }; log: any }): number {
  const found = completion.match(/<answer>(.*?)<\\/answer>/s)
  const value = found?.[1]?.trim() ?? null
  log.column('extracted', value)
  return value === row.answer ? 1 : 0
}`

const calls = 10_000
const reasoning = 'We add both numbers and carry where the sum of two digits is ten or more. '.repeat(4)
const inputs = Array.from({ length: calls }, (_, i) => ({
  prompt: `What is 17 + ${i}? Think first.`,
  completion: `<think>${reasoning}</think><answer> ${17 + i} </answer>`,
  row: { question: `What is 17 + ${i}?`, answer: String(17 + i) },
  step: 1,
}))

const openedAt = performance.now()
await using sandbox = await openSandbox({ code, language: 'ts' })
console.log(`open: ${(performance.now() - openedAt).toFixed(0)} ms`)

const durations: number[] = []
for (let round = 0; round < 7; round++) {
  const startedAt = performance.now()
  const answers = await sandbox.score(inputs, 'default')
  durations.push(performance.now() - startedAt)
  if (!answers.every((answer) => 'value' in answer && answer.value === 1))
    throw new Error('Expected all right.')
}
console.log(`first ${calls} calls: ${durations[0]?.toFixed(0) ?? ''} ms`)
const sorted = durations.slice(1).sort((a, b) => a - b)
console.log(`later: median ${sorted[3]?.toFixed(0) ?? ''} ms, best ${sorted[0]?.toFixed(0) ?? ''} ms`)
