/** Rows of a run for other tools: prompts as the run renders them, with every column. */
import { plural } from '#shared/plural.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import type { PlanningParts } from '#rl/training/dependencies.ts'
import { examplesOf } from '#rl/training/exampleSource.ts'
import { promptsOf } from '#rl/training/rollOut.ts'
import type { GivenAnswer } from '#rl/rollout/examples.ts'
import { type DataRow, promptContent, type Prompt } from '#rl/rollout/prompts.ts'
import { readRunData } from '#host/data/readDataSet.ts'
import type { SplitResult } from '#host/data/split.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'

/** A line of data/train.jsonl and data/eval.jsonl. */
export interface ProjectRow {
  /** Messages for the chat template, or text. */
  readonly prompt: string | readonly ChatMessage[]
  /** Prompt that the policy reads, chat markup included; reward functions get it too. */
  readonly prompt_text: string
  /** Number of the row in the data set, from 0. */
  readonly row_number: number
  /** Columns as JSON text, so that no reader of tables changes a value. */
  readonly row: string
  readonly completion?: string | readonly ChatMessage[]
  readonly chosen?: string | readonly ChatMessage[]
  readonly rejected?: string | readonly ChatMessage[]
}

export interface ProjectData {
  readonly train: readonly ProjectRow[]
  readonly heldOut: readonly ProjectRow[]
  readonly form: 'messages' | 'text'
  /** The text holds chat markup, so no further special tokens belong in front. */
  readonly isMarkedUp: boolean
  readonly notes: readonly string[]
}

interface Encoded {
  readonly prompt: Prompt
  readonly answers: readonly GivenAnswer[]
}

/** Errors: AppError 'data/…', 'file/…', 'tokenizer/invalid', and 'config/invalid' where no prompt fits. */
export async function readProjectData(run: RunConfig, model: ModelFolder): Promise<ProjectData> {
  const rows = await readRunData(run.data)
  const encode = encoderOf(run, model, rows)
  const train = encode(rows.train)
  const heldOut = rows.heldOut.length === 0 ? { encoded: [], tooLong: 0 } : encode(rows.heldOut)
  const all = [...train.encoded, ...heldOut.encoded].map(({ prompt }) =>
    promptContent(prompt.columns, prompt.row, run.data.prompt),
  )
  const form = all.every(isConversation) ? 'messages' : 'text'
  const rowOf = (each: Encoded): ProjectRow => projectRow(each, run, form)
  const left = train.tooLong + heldOut.tooLong
  return {
    train: train.encoded.map(rowOf),
    heldOut: heldOut.encoded.slice(0, run.evaluation.rows ?? undefined).map(rowOf),
    form,
    isMarkedUp: all.some((content) => typeof content !== 'string'),
    notes:
      left === 0
        ? []
        : [`${plural(left, 'row is', 'rows are')} left out of the data as too long, as in the run.`],
  }
}

/** A last message by the assistant is the beginning of the answer, which only a rendered text can say. */
const isConversation = (content: string | readonly ChatMessage[]): boolean =>
  typeof content !== 'string' && content.at(-1)?.role !== 'assistant'

function encoderOf(run: RunConfig, model: ModelFolder, data: SplitResult) {
  const text = loadTokenizer(model.directory)
  const { eos } = text.tokenizer.special
  const parts: PlanningParts = {
    config: run,
    model: {
      ...text,
      policy: { contextLength: model.config.contextLength },
      stopIds: [...new Set([...model.config.eosIds, ...(eos === null ? [] : [eos])])],
    },
    data,
    code: { algorithm: algorithmById(run.algorithm.id).configure(run.algorithm.settings) },
  }
  return (rows: readonly DataRow[]): { readonly encoded: readonly Encoded[]; readonly tooLong: number } => {
    if (parts.code.algorithm.experience === 'rollout') {
      const { prompts, tooLong } = promptsOf(parts, rows)
      return { encoded: prompts.map((prompt) => ({ prompt, answers: [] })), tooLong: tooLong.length }
    }
    const { examples, tooLong } = examplesOf(parts, rows)
    return { encoded: examples, tooLong: tooLong.length }
  }
}

function projectRow(
  { prompt, answers }: Encoded,
  { algorithm, data }: RunConfig,
  form: ProjectData['form'],
): ProjectRow {
  const content = promptContent(prompt.columns, prompt.row, data.prompt)
  const texts = answers.map(({ text }) =>
    form === 'messages' ? [{ role: 'assistant', content: text }] : text,
  )
  const [first, second] = texts
  return {
    prompt: form === 'messages' ? content : prompt.text,
    prompt_text: prompt.text,
    row_number: prompt.row,
    row: JSON.stringify(prompt.columns),
    ...(first !== undefined && algorithm.id === 'sft' ? { completion: first } : {}),
    ...(first !== undefined && second !== undefined ? { chosen: first, rejected: second } : {}),
  }
}
