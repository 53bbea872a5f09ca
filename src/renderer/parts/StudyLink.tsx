import { FlaskConical } from 'lucide-react'
import { useMemo } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { link } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { Tooltip } from '#renderer/kit/Tooltip.tsx'
import { studyTitle } from './studyWords.ts'

/** Titles of the studies there are, by id. */
export function useStudyTitles(): ReadonlyMap<string, string> {
  const { data } = useAnswer('studies.list', undefined)
  return useMemo(() => new Map(data?.studies.map((study) => [study.id, studyTitle(study)])), [data])
}

interface StudyLinkProps {
  readonly run: Pick<RunEntry, 'studyId' | 'trial'>
  /** With a tooltip in place of the words. */
  readonly isSmall?: boolean
}

/** To the study that a run is a trial of; nothing where it is none, or its study was deleted. */
export function StudyLink({ run: { studyId, trial }, isSmall = false }: StudyLinkProps) {
  const title = useStudyTitles().get(studyId ?? '')
  if (studyId === null || trial === null || title === undefined) return null
  const words = `Trial ${String(trial + 1)} of ${title}`
  const place = {
    href: link(`/studies/${studyId}`, { trial: String(trial + 1) }),
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
