import { useState } from 'react'
import type { Answer } from '#renderer/client/api.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Cautions } from '#renderer/kit/Cautions.tsx'
import { Form, TextField } from '#renderer/kit/inputs.tsx'

/* What a file seems to be, in a sentence for somebody who does not know the names of formats. */

const sentences: Readonly<Record<string, string>> = {
  verl: 'Prompts with a reward model’s ground truth, as verl writes them. The ground truth becomes the expected answer.',
  preference: 'Pairs of a better and a worse completion, as DPO learns from them.',
  'compared-answers':
    'Two answers to each prompt and which of them is better: they become pairs, as DPO learns from them.',
  'ranked-answers':
    'Several answers to each prompt, with a place or score for each: the best and the worst become a pair, as DPO learns from them.',
  'unpaired-preference':
    'Completions that are marked as good or bad: pairs where a prompt has both, as DPO learns from them, else rows for KTO.',
  stepwise: 'Completions in steps, each with a mark.',
  'prompt-completion': 'Use the completions as demonstrations, or let rewards compare with them.',
  'prompt-answer': 'The model is trained on the prompts; rewards compare completions with the answer.',
  'prompt-only': 'The model is trained on the prompts; rewards can use the other columns.',
  conversation:
    'The prompt is the whole conversation, or the conversation without its last answer, as chosen below.',
  instruction: 'Alpaca’s form: instruction and input are the prompt, output is the expected answer.',
  'question-answer': 'The question is the prompt; rewards compare completions with the answer.',
  text: 'It has texts, but no prompts yet. Choose below where the prompt comes from.',
  unknown: 'No known kind of data set has these columns. Choose below where the prompt comes from.',
}

const nothing = 'The file is empty: it has no rows.'

const shapeSentence = (id: string, columns: number): string =>
  columns === 0 ? nothing : (sentences[id] ?? sentences['unknown'] ?? '')

const sentenceCase = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** Shows the detected shape of a file, the evidence, and ignored columns. */
export function Recognised({
  file: { shape, columns, notes, oddValues },
}: {
  file: Answer<'datasets.inspect'>
}) {
  const by = shape.id === 'unknown' || columns.length === 0 ? '' : ` Recognised by ${shape.evidence}.`
  return (
    <>
      <p className="font-medium">{sentenceCase(shape.title)}</p>
      <div className="mb-4 flex flex-col gap-2 text-pretty">
        <p className="text-muted">{`${shapeSentence(shape.id, columns.length)}${by}`}</p>
        {notes.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
        <Cautions sentences={[...shape.leftAside.map(({ text }) => text), ...shape.doubts, ...oddValues]} />
      </div>
    </>
  )
}

interface ListFieldProps {
  readonly split: string | undefined
  readonly onSplit: (split: string | undefined) => void
}

/** Asks which list to read if a JSON document has several. */
export function ListField({ split, onSplit }: ListFieldProps) {
  const [name, setName] = useState(split ?? '')
  return (
    <Form
      className="my-3 flex items-end gap-2"
      onSubmit={() => onSplit(name.trim() === '' ? undefined : name.trim())}
    >
      <TextField label="List with the rows" value={name} onChange={setName} />
      <Button type="submit">Read</Button>
    </Form>
  )
}
