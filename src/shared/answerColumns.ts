/** What data sets call the column with the expected answer, the likelier names first. */
export const answerColumns = [
  'answer',
  'final_answer',
  'ground_truth',
  'solution',
  'response',
  'output',
  'target',
  'label',
  'expected_answer',
  'reference',
] as const
