import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { link } from '#renderer/client/route.ts'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { rowWords, type Sample } from '#renderer/parts/groups.ts'

/** Data row behind the prompt: the reward's other input besides the completion. */
export function OriginRow({ sample }: { sample: Sample }) {
  const words = rowWords(sample)
  const [isOpen, setOpen] = useState(false)
  return (
    <section aria-label="Row of the data" className="border-t border-line px-4 py-2">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="-ml-1 inline-flex h-7 items-center gap-1 rounded px-1 font-medium hover:bg-raised"
      >
        <ChevronRight
          size={14}
          aria-hidden
          className={classes('transition-transform', isOpen && 'rotate-90')}
        />
        {words[0]?.toUpperCase()}
        {words.slice(1)} of the data
      </button>
      {isOpen && <Origin sample={sample} />}
    </section>
  )
}

function Origin({ sample: { id: sampleId, dataRow } }: { sample: Sample }) {
  const { data, error } = useAnswer('samples.origin', { sampleId })
  if (error !== null) return <ErrorNote error={error} className="mt-2" />
  if (data === undefined) return <Loading />
  return (
    <div className="py-2">
      {data.versionId !== null && dataRow !== null && (
        <a
          href={link(`/data/${data.versionId}`, { row: String(dataRow + 1) })}
          className="mb-2 inline-block text-accent-ink hover:underline"
        >
          Show in Data
        </a>
      )}
      <KeyValue
        entries={Object.entries(data.row).map(([name, value]) => [name, <Value key={name} value={value} />])}
      />
      {data.messages?.map(({ role, content }, i) => (
        <div key={`${String(i)} ${role}`} className="mt-2 border-l-2 border-line pl-3">
          <p className="text-sm text-faint">{role}</p>
          <p dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
            {content}
          </p>
        </div>
      ))}
    </div>
  )
}

export const LoggedColumns = ({ logged }: { logged: Readonly<Record<string, unknown>> }) => (
  <KeyValue
    entries={Object.entries(logged).map(([name, value]) => [name, <Value key={name} value={value} />])}
  />
)

const Value = ({ value }: { value: unknown }) => (
  <span dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
    {typeof value === 'string' ? value : JSON.stringify(value, null, 1)}
  </span>
)
