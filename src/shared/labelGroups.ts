/** Names of the answers to one prompt that people see together, by which their labels are found. */

/** Completions of a row in a step of a run. */
export const sampleGroup = ({
  runId,
  step,
  source,
  row,
}: Readonly<{ runId: string; step: number; source: string; row: number }>): string =>
  `${runId}/${String(step)}/${source}/${String(row)}`

/** Answers to a turn of a conversation. */
export const chatGroup = (id: string, turn: number): string => `${id}/${String(turn)}`

/** Answers of a blind vote. */
export const voteGroup = (round: string): string => `vote/${round}`
