import { FlaskConical } from 'lucide-react'
import { useMemo } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { link } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { Tooltip } from '#renderer/kit/Tooltip.tsx'
import { studyTitle } from './studyWords.ts'

export function useStudyTitles(): ReadonlyMap<string, string> {
  const { data } = useAnswer('studies.list', undefined)
  return useMemo(() => new Map(data?.studies.map((study) => [study.id, studyTitle(study)])), [data])
}

interface StudyLinkProps {
  readonly run: Pick<RunEntry, 'studyId' | 'trial'>
  /** Shows a tooltip in place of the text. */
  readonly isSmall?: boolean
}

/** Link to the study of a trial run; renders nothing if there is none, or if it was deleted. */
export function StudyLink({ run: { studyId, trial }, isSmall = false }: StudyLinkProps) {
  const title = useStudyTitles().get(studyId ?? '')
  if (studyId === null || trial === null || title === undefined) return null
  const words = `Trial ${String(trial + 1)} of ${title}`
  const place = {
    href: link(`/runs/studies/${studyId}`, { trial: String(trial + 1) }),
    onClick: (event: React.MouseEvent) => event.stopPropagation(),
  }
  if (isSmall) {
    return (
      <Tooltip text={words}>
        <a {...place} aria-label={words} tabIndex={-1} className="shrink-0 text-faint hover:text-text">
          <FlaskConical size={12} aria-hidden />
        </a>
      </Tooltip>
    )
  }
  return (
    <a
      {...place}
      className="inline-flex shrink-0 items-center gap-1 text-accent-ink hover:underline"
      title="Show the study"
    >
      <FlaskConical size={13} aria-hidden />
      {words}
    </a>
  )
}
