import { labelOf, sentenceParts } from './fieldWords.ts'

/** A sentence of the host: settings are called as everywhere in the window, their keys are in the tooltips. */
export const Sentence = ({ text }: { text: string }) =>
  sentenceParts(text).map((part, i) =>
    part.isKey ? (
      <span key={i} title={part.text} className="underline decoration-dotted underline-offset-2">
        {labelOf(part.text)}
      </span>
    ) : (
      part.text
    ),
  )
