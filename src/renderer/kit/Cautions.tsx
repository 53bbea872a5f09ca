import { TriangleAlert } from 'lucide-react'

/** Lists warnings to read before continuing. */
export const Cautions = ({ sentences }: { sentences: readonly string[] }) =>
  sentences.map((sentence) => (
    <p key={sentence} className="flex gap-2 rounded bg-caution-soft px-3 py-2 text-pretty">
      <TriangleAlert size={14} aria-hidden className="mt-1 shrink-0 text-caution" />
      {sentence}
    </p>
  ))
