/** Shows how to open an export in other programs: commands to copy, in the window and in the folder's README. */
import path from 'node:path'
import { slugOf } from '#shared/plural.ts'
import { commandWord } from '#shared/shownText.ts'
import { peftCode } from '#host/adapters/peft.ts'
import type { ExportFormat, ExportReport } from './exports.ts'
import { mergedGgufName } from './ggufMerged.ts'
import { modelfileName } from './ollama.ts'

interface Exported {
  readonly format: ExportFormat
  /** Folder of the export. */
  readonly directory: string
  /** Id of the base on a hub; null: unknown. */
  readonly baseModel: string | null
}

/** The folder of a README. */
const here = '.'

export function openIn({ format, directory, baseModel }: Exported): ExportReport['openIn'][number][] {
  const folder = commandWord(directory)
  const inFolder = (name: string): string => commandWord(path.join(directory, name))
  const name = directory === here ? 'my-model' : slugOf(path.basename(directory))
  const base = commandWord(baseModel ?? 'path/of/the/base/model')
  switch (format) {
    case 'gguf-model':
      return [
        {
          tool: 'Ollama',
          command: `ollama create ${name} -f ${inFolder(modelfileName)} && ollama run ${name}`,
        },
        { tool: 'LM Studio', command: `lms import ${inFolder(mergedGgufName)}` },
        { tool: 'llama.cpp', command: `llama-server -m ${inFolder(mergedGgufName)}` },
        { tool: 'vLLM', command: `vllm serve ${inFolder(mergedGgufName)} --tokenizer ${base}` },
      ]
    case 'gguf':
      return [{ tool: 'llama.cpp', command: `llama-server -m base.gguf --lora ${inFolder('adapter.gguf')}` }]
    case 'merged':
      return [
        { tool: 'vLLM', command: `vllm serve ${folder}` },
        { tool: 'llama.cpp', command: `python convert_hf_to_gguf.py ${folder}` },
      ]
    case 'peft':
      return [
        // A README begins with this code.
        ...(directory === here ? [] : [{ tool: 'transformers', command: peftCode(baseModel, directory) }]),
        { tool: 'vLLM', command: `vllm serve ${base} --enable-lora --lora-modules ${name}=${folder}` },
      ]
    case 'onnx':
      return [
        {
          tool: 'Node.js',
          command: `cd ${folder} && npm install onnxruntime-node && node example.mjs "1 2 3"`,
        },
      ]
  }
}

/** The same as a part of a README, whose folder has no fixed place. */
export function openingWords(format: ExportFormat, baseModel: string | null): string {
  const lines = openIn({ format, directory: here, baseModel }).map(
    ({ tool, command }) => `${tool}:\n\n\`\`\`sh\n${command}\n\`\`\`\n`,
  )
  return `## Open in\n\n${lines.join('\n')}`
}
