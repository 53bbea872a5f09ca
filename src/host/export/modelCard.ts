/** README.md of an export: what it is, how it is used, what it was made from, and what came of reading it back. */
import type { ModelConfig } from '#engine/models/config.ts'
import { peftSnippet } from '#host/adapters/peft.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { describeLora } from './exportFormats.ts'
import type { ExportFormat, ParityLine } from './exports.ts'
import { onnxCard } from './onnxCard.ts'
import type { Provenance } from './provenance.ts'

export interface CardContent {
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

Trained with Turnwise ${origin.turnwise} (step ${origin.step}) on ${baseWords(origin)}: LoRA of ${describeLora(origin.lora)}.${roundingWords(origin)}

${bodies[content.format](content)}
## Read back

${passed(content.parity)} The numbers are in \`parity.json\`, with the digests of what this was made from.

${parityTable(content.parity)}
`
}

/** Other tools have the exact base, and so has the comparison. */
const roundingWords = ({ learnedOn }: Provenance): string =>
  learnedOn === 'f32'
    ? ''
    : ` It learned on a base rounded to ${learnedOn} blocks; what is compared below is the exact base, which answers slightly otherwise.`

const titles: Readonly<Record<ExportFormat, string>> = {
  peft: 'LoRA adapter',
  merged: 'Model with its adapter merged in',
  gguf: 'LoRA adapter for llama.cpp',
  onnx: 'ONNX model',
}

const baseWords = ({ baseModel, architecture }: Provenance): string =>
  baseModel !== null && isHubId(baseModel) ? `\`${baseModel}\`` : `a ${architecture} model`

const libraries: Readonly<Record<ExportFormat, string>> = {
  peft: 'peft',
  merged: 'transformers',
  gguf: 'gguf',
  onnx: 'onnx',
}

function frontMatter({ format, origin: { baseModel } }: CardContent): string {
  const base = baseModel !== null && isHubId(baseModel) ? `base_model: ${baseModel}\n` : ''
  return `---
${base}library_name: ${libraries[format]}
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
  gguf: () => `The base must be the same model as a GGUF file, made by llama.cpp's converter:

\`\`\`sh
llama-cli -m base.gguf --lora adapter.gguf
\`\`\`

For Ollama, a Modelfile with \`FROM ./base.gguf\` and \`ADAPTER ./adapter.gguf\`. On a quantised base the adapter works too,
but what was compared below is the exact one.
`,
  onnx: onnxCard,
}

const passed = (parity: readonly ParityLine[]): string =>
  parity.every((line) => line.passed)
    ? 'What was written was read back by its own reader and compared with the policy that was trained.'
    : '**What was read back differs from what was trained. Do not use this export.**'

/** A table that says the same as the report in the program. */
const parityTable = (parity: readonly ParityLine[]): string =>
  [
    '| compared | difference | allowed | |',
    '|---|---|---|---|',
    ...parity.map(
      ({ sentence, measured, limit, passed: isPassed }) =>
        `| ${sentence} | ${number(measured)} | ${number(limit)} | ${isPassed ? 'passed' : '**failed**'} |`,
    ),
  ].join('\n')

const number = (value: number): string => String(Number(value.toPrecision(3)))
