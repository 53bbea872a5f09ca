/** Finds prompts that end with an answer, which a run that generates takes for the beginning of each completion. */
import { begunAnswer } from '#rl/rollout/conversationText.ts'
import { chatIn } from '#shared/messages.ts'
import { plainName } from './columnKinds.ts'
import type { DataRow } from './dataFile.ts'

/** A sentence on them, with the remedy; none where every row begins alike, which is meant. `among`: “12 rows”. */
export function begunDoubts(rows: readonly DataRow[], column: string, among: string): string[] {
  const begun = rows.flatMap((row) => {
    const content = begunAnswer(chatIn(row[column]) ?? [])?.content ?? ''
    return content === '' ? [] : [content]
  })
  if (begun.length === 0 || (begun.length > 1 && new Set(begun).size === 1)) return []
  const renaming = plainName(column) === 'prompt' ? 'call the column “messages” and ' : ''
  return [
    `In ${begun.length} of ${among} “${column}” ends with a message of the assistant, with which every completion of a run begins. If it is the whole answer, ${renaming}import the data with the columns mapped (--remap), which takes it off.`,
  ]
}
