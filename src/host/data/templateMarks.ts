/** Finds texts that a chat template was applied to before they were written down. */
import { isChatKind } from '#shared/columnKind.ts'
import { chatIn } from '#shared/messages.ts'
import type { Columns } from './columnKinds.ts'

const marks =
  /<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|(?:user|assistant|system|end_of_turn)\|>|\[INST\]|<\|begin▁of▁sentence\|>|<｜(?:User|Assistant)｜>/

const ends =
  /(?:<\|(?:im_end|eot_id|end|endoftext|end_of_text|return)\|>|<end_of_turn>|<\/s>|<｜end▁of▁sentence｜>)\s*$/

/** Sentences on the columns that are read and of which most rows have such marks, or end with one. */
export const templateDoubts = (columns: Columns, used: readonly string[]): string[] =>
  used.flatMap((column) => {
    const isText = columns.kind(column) === 'text'
    const most = (sought: RegExp): string | undefined => mostly(columns, column, sought)
    const [mark, end] = [isText ? most(marks) : undefined, most(ends)]
    if (mark === undefined)
      return end === undefined
        ? []
        : [
            `“${column}” ends with a mark of a chat template (${end.trim()}). A run adds the end of the turn itself, so this mark counts as part of the text: remove it.`,
          ]
    return [
      `“${column}” holds marks of a chat template (${mark}), as if it had been applied already. They are read as they stand, and a user’s message made of them gets the model’s own template around it, too: write conversations as lists of {role, content}.`,
    ]
  })

/** Returns the mark that most texts of a column hold; undefined if most hold none. Of a conversation, the last message counts. */
function mostly(columns: Columns, column: string, sought: RegExp): string | undefined {
  const isChat = isChatKind(columns.kind(column))
  if (!isChat && columns.kind(column) !== 'text') return undefined
  const values = columns
    .values(column)
    .map((value) => (isChat ? (chatIn(value)?.at(-1)?.content ?? '') : String(value)))
  const found = values.flatMap((value) => sought.exec(value)?.[0] ?? [])
  return 2 * found.length < values.length ? undefined : found[0]
}
