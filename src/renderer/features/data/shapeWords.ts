/** What a file seems to be, in a sentence for somebody who does not know the names of formats. */

const sentences: Readonly<Record<string, string>> = {
  verl: 'Prompts with a reward model’s ground truth, as verl writes them. The ground truth becomes the expected answer.',
  preference: 'Pairs of a better and a worse completion, as DPO learns from them.',
  'unpaired-preference': 'Completions that are marked as good or bad.',
  stepwise: 'Completions in steps, each with a mark.',
  'prompt-completion': 'Use the completions as demonstrations, or let rewards compare with them.',
  'prompt-only': 'The prompts are what a model practises on; the columns beside them are there for rewards.',
  conversation:
    'What the model reads is the prompt: each of them whole, or without its last answer, as is chosen below.',
  instruction: 'As Alpaca has them: the instruction and its input are asked, the output is what is wanted.',
  'question-answer': 'The question is asked; the answer is what rewards compare with.',
  text: 'It has no prompt yet: say which column it comes from.',
  unknown: 'Its columns have no known names. Say where the prompt comes from.',
}

const nothing = 'The file is empty: it has no rows.'

/** `columns`: how many the file has. */
export const shapeSentence = (id: string, columns: number): string =>
  columns === 0 ? nothing : (sentences[id] ?? sentences['unknown'] ?? '')
