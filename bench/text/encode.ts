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

/** Megabytes in a second of processor time, which other programs disturb less than the clock's. */
function speedOf(encode: (row: string) => unknown): number {
  const began = process.cpuUsage()
  for (const row of rows) encode(row)
  const { user, system } = process.cpuUsage(began)
  return (1e6 * megabytes) / (user + system)
}

/** In turn: the first pass, in which every word is new, and the best of five. */
function speedsOf(...encoders: readonly ((row: string) => unknown)[]) {
  const passes = [0, 1, 2, 3, 4].map(() => encoders.map(speedOf))
  return encoders.map((_, at) => ({
    first: passes[0]?.[at] ?? 0,
    best: Math.max(...passes.map((speeds) => speeds[at] ?? 0)),
  }))
}

for (const folder of positionals) {
  const parts = { decoder: null, normalizer: null, pre_tokenizer: null, post_processor: null }
  const json = { ...parts, ...readJson(folder, 'tokenizer.json') }
  const config = readJson(folder, 'tokenizer_config.json')
  const own = createTokenizer({ tokenizerJson: json, tokenizerConfig: config, where: folder })
  const library = new Library(json, config)
  const [ours, theirs] = speedsOf(
    (row) => own.encode(row, { addSpecialTokens: false }),
    (row) => library.encode(row, { add_special_tokens: false }),
  )
  if (!ours || !theirs) continue
  const compared = (pass: 'first' | 'best') =>
    `${ours[pass].toFixed(1)} MB/s, library ${theirs[pass].toFixed(1)} MB/s: ${(ours[pass] / theirs[pass]).toFixed(1)}×`
  process.stdout.write(
    `${path.basename(folder)}: ours ${compared('best')} (first pass ${compared('first')})\n`,
  )
}
