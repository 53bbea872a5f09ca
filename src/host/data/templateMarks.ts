/** Finds texts that a chat template was applied to before they were written down. */
import type { Columns } from './columnKinds.ts'

const marks =
  /<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|(?:user|assistant|system|end_of_turn)\|>|\[INST\]|<\|begin▁of▁sentence\|>|<｜(?:User|Assistant)｜>/

/** Writes sentences on the columns that a proposal reads and of which most rows have such marks. */
export const templateDoubts = (columns: Columns, used: readonly string[]): string[] =>
  used.flatMap((column) => {
    if (columns.kind(column) !== 'text') return []
    const values = columns.values(column).map(String)
    const found = values.flatMap((value) => marks.exec(value)?.[0] ?? [])
    return found.length === 0 || 2 * found.length < values.length
      ? []
      : [
          `“${column}” holds marks of a chat template (${found[0] ?? ''}), as if it had been applied already. They are read as they stand, and a user’s message made of them gets the model’s own template around it, too: write conversations as lists of {role, content}.`,
        ]
  })
