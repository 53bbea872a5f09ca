/**
 * Writes the README.md of an export: what it is, how to use it, what it was made from, and the result of reading it
 * back.
 */
import { markdownCode, markdownText } from '#shared/markdown.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { peftSnippet } from '#host/adapters/peft.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { licenseLines } from '#host/hub/card.ts'
import { describeLora, type ExportFormat, type ParityLine } from './exports.ts'
import { onnxCard } from './onnxModel.ts'
import { openingWords } from './openIn.ts'
import type { Provenance } from './provenance.ts'

/** Sentence of a card that states no licence. */
const unknownLicense = 'The licence of the base model is not known.'

interface CardContent {
  readonly format: ExportFormat
  readonly model: ModelConfig
  readonly origin: Provenance
  readonly adapterInputs: boolean
  readonly parity: readonly ParityLine[]
}

export function modelCard(content: CardContent): string {
  const { origin } = content
  return `${frontMatter(content)}
# ${titles[content.format]}

Trained with Turnwise ${origin.turnwise} (step ${origin.step}) on ${baseWords(origin)}: LoRA of ${describeLora(origin.lora)}.${roundingWords(origin)}${origin.baseLicense === null ? ` ${unknownLicense}` : ''}

${bodies[content.format](content)}
${openingWords(content.format, hubIdIn(origin))}
## Read back

${passed(content.parity)} The numbers are in \`parity.json\`, with the digests of what this was made from.

${parityTable(content.parity)}
`
}

/** Explains rounding: other tools have the exact base, and so has the comparison. */
const roundingWords = ({ learnedOn }: Provenance): string =>
  learnedOn === 'f32'
    ? ''
    : ` It was trained on a base quantised to ${learnedOn} blocks; the comparison below uses the exact base, whose outputs differ slightly.`

const titles: Readonly<Record<ExportFormat, string>> = {
  peft: 'LoRA adapter',
  merged: 'Model with the adapter merged in',
  gguf: 'LoRA adapter for llama.cpp',
  'gguf-model': 'Model with the adapter merged in, for llama.cpp',
  onnx: 'ONNX model',
}

const hubIdIn = ({ baseModel }: Provenance): string | null =>
  baseModel !== null && isHubId(baseModel) ? baseModel : null

const baseWords = (origin: Provenance): string => {
  const id = hubIdIn(origin)
  return id === null ? `a ${markdownText(origin.architecture)} model` : markdownCode(id)
}

const libraries: Readonly<Record<ExportFormat, string>> = {
  peft: 'peft',
  merged: 'transformers',
  gguf: 'gguf',
  'gguf-model': 'gguf',
  onnx: 'onnx',
}

function frontMatter({ format, origin }: CardContent): string {
  const id = hubIdIn(origin)
  const base = id === null ? '' : `base_model: ${id}\n`
  const terms = origin.baseLicense === null ? '' : licenseLines(origin.baseLicense)
  return `---
${base}${terms}library_name: ${libraries[format]}
pipeline_tag: text-generation
tags:
- lora
- turnwise
---
`
}

const bodies: Readonly<Record<ExportFormat, (content: CardContent) => string>> = {
  peft: ({ origin: { baseModel } }) => peftSnippet(baseModel),
  merged: () => `\`\`\`python
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("path/of/this/folder")
\`\`\`

Each adapted weight is base + s·B·A, added up in f64 and rounded once to the type of the base (nearest, ties to even). All
other tensors, the configs and the tokenizer are those of the base, byte by byte.
`,
  gguf: () => `The base must be the same model as a GGUF file, made by llama.cpp's converter. For Ollama, a Modelfile with \`FROM ./base.gguf\` and \`ADAPTER ./adapter.gguf\`. On a quantised base the adapter works too,
but what was compared below is the exact one.
`,
  'gguf-model':
    () => `\`model.gguf\` is the whole model with tokenizer and chat template; Ollama reads it through \`Modelfile\`.
Each adapted weight is base + s·B·A, added up in f64 and rounded once to f32; then it was stored as below. Vectors and
norms are f32.
`,
  onnx: onnxCard,
}

const passed = (parity: readonly ParityLine[]): string =>
  parity.every((line) => line.passed)
    ? 'The export was read back by its own reader and compared with the trained policy.'
    : '**The export differs from the trained policy. Do not use it.**'

/** A table that says the same as the report in the program. */
const parityTable = (parity: readonly ParityLine[]): string =>
  [
    '| compared | difference | allowed | |',
    '|---|---|---|---|',
    ...parity.map(
      ({ sentence, measured, limit, passed: isPassed }) =>
        `| ${markdownText(sentence)} | ${number(measured)} | ${number(limit)} | ${isPassed ? 'passed' : '**failed**'} |`,
    ),
  ].join('\n')

const number = (value: number): string => String(Number(value.toPrecision(3)))
