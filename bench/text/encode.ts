/**
 * Speed of encoding rows, ours beside the tokenizer library, in one run on the same texts:
 * `node bench/text/encode.ts TOKENIZER_FOLDER… --text FILE` (UTF-8, cut into rows of 800 characters).
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { Tokenizer as UntypedLibrary } from '@huggingface/tokenizers'
import { createTokenizer } from '#engine/text/tokenizer.ts'

/** The library's own types do not resolve under Node's module rules. */
const Library = UntypedLibrary as unknown as new (
  json: object,
  config: object,
) => { encode(text: string, options: { add_special_tokens: boolean }): unknown }

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { text: { type: 'string', default: 'README.md' } },
})
const rowLength = 800

const text = readFileSync(values.text, 'utf8')
const rows = Array.from({ length: Math.ceil(text.length / rowLength) }, (_, at) =>
  text.slice(at * rowLength, (at + 1) * rowLength),
)
const megabytes = Buffer.byteLength(text) / 1e6

const readJson = (folder: string, name: string): object =>
  JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as object

/** The better of two passes, in megabytes a second; the first one also warms up. */
function speedOf(encode: (row: string) => unknown): number {
  const passes = [0, 1].map(() => {
    const began = performance.now()
    for (const row of rows) encode(row)
    return (1000 * megabytes) / (performance.now() - began)
  })
  return Math.max(...passes)
}

for (const folder of positionals) {
  const parts = { decoder: null, normalizer: null, pre_tokenizer: null, post_processor: null }
  const json = { ...parts, ...readJson(folder, 'tokenizer.json') }
  const config = readJson(folder, 'tokenizer_config.json')
  const own = createTokenizer({ tokenizerJson: json, tokenizerConfig: config, where: folder })
  const library = new Library(json, config)
  const ours = speedOf((row) => own.encode(row, { addSpecialTokens: false }))
  const theirs = speedOf((row) => library.encode(row, { add_special_tokens: false }))
  const speeds = `${ours.toFixed(1)} MB/s, library ${theirs.toFixed(1)} MB/s: ${(ours / theirs).toFixed(1)}×`
  process.stdout.write(`${path.basename(folder)}: ours ${speeds}\n`)
}
