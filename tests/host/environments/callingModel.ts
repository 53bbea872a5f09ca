/** A model that has tokens for calls of one function, and rows that only a call answers. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { resourcesDirectory } from '#host/dataDirectory.ts'

/** Begin and end of a call, which are tokens here: the starter has two that it does not use. */
const [callBegins, callEnds] = ["[code(n='", "')]"]
/** As Llama's models with a pythonic template write calls. */
const template = [
  "{% for message in messages %}<|{{ 'assistant' if message.role == 'assistant' else 'user' }}|>{{ message.content }}",
  '{% for call in message.tool_calls or [] %}[{{ call.function.name }}(',
  "{% for name, value in call.function.arguments.items() %}{{ name }}='{{ value }}'{% endfor %})]{% endfor %}",
  '<|end|>{% endfor %}{% if tools %}{# [func_name1(params_name1=params_value1)] #}{% endif %}',
  '{% if add_generation_prompt %}<|assistant|>{% endif %}',
].join('')

/** Nothing in a number tells its code. */
const codeOf = (number: number) => ((number * 7919 + 13) % 97) % 10
const environment = `
import { defineTools } from 'turnwise'
export default defineTools({ code: (n) => ((Number(n) * 7919 + 13) % 97) % 10 }, { maxTurns: 3 })
`
const question = (number: number) => `Code of ${number}`
const numbers = Array.from({ length: 90 }, (_, i) => 10 + ((i * 37) % 90))
const [known, heldOut] = [numbers.slice(0, 60), numbers.slice(60)]

const asked = (number: number) => `<|user|>${question(number)}<|end|><|assistant|>`
const call = (number: number) => `${callBegins}${number}${callEnds}`
const calls = numbers.map((number) => ({ prompt: asked(number), completion: call(number) }))

/** One answer of three asks the function, and says its result then; two say some digit at once. */
const demonstrations = known.flatMap((number, i) => {
  const result = `${asked(number)}${call(number)}<|end|><|user|>${codeOf(number)}<|end|><|assistant|>`
  return [
    { prompt: asked(number), completion: call(number) },
    ...[3, 7].map((step) => ({ prompt: asked(number), completion: String((i * step) % 10) })),
    { prompt: result, completion: String(codeOf(number)) },
  ]
})
const rows = (of: readonly number[]) =>
  of.map((number) => ({ prompt: question(number), answer: String(codeOf(number)) }))

/** Writes `model`, `tools.ts` and rows into a folder. */
export function writeCallingModel(folder: string): void {
  const file = (name: string) => path.join(folder, name)
  cpSync(path.join(resourcesDirectory, 'starter'), file('model'), { recursive: true })
  const rewrite = (name: string, change: (text: string) => string) => {
    const changed = change(readFileSync(file(`model/${name}`), 'utf8'))
    writeFileSync(file(`model/${name}`), changed)
  }
  rewrite('tokenizer.json', (text) =>
    text.replaceAll('"<|system|>"', `"${callBegins}"`).replaceAll('"<|tool|>"', `"${callEnds}"`),
  )
  rewrite('tokenizer_config.json', (text) =>
    JSON.stringify({ ...(JSON.parse(text) as object), chat_template: template }),
  )
  // Their embeddings are as long as those of other tokens, but no other token's.
  const weights = readFileSync(file('model/model.safetensors'))
  const [start, width] = [8 + Number(weights.readBigUInt64LE(0)), 192]
  const place = (token: number, i: number) => start + 4 * (token * width + i)
  for (const [token, other] of [
    [2, 3],
    [5, 4],
  ] as const)
    for (let i = 0; i < width; i++)
      weights.writeFloatLE(weights.readFloatLE(place(other, width - 1 - i)), place(token, i))
  writeFileSync(file('model/model.safetensors'), weights)
  writeFileSync(file('tools.ts'), environment)
  const data = { calls, demonstrations, train: rows(known), heldOut: rows(heldOut) }
  for (const [name, all] of Object.entries(data))
    writeFileSync(file(`${name}.jsonl`), all.map((row) => `${JSON.stringify(row)}\n`).join(''))
}
