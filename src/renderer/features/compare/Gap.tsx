import { ArrowDown, ArrowUp, CircleHelp, Equal, type LucideIcon } from 'lucide-react'
import { useMemo } from 'react'
import { Badge, type Tone } from '#renderer/kit/Badge.tsx'
import { Help } from '#renderer/kit/Help.tsx'
import { Panel } from '#renderer/kit/Panel.tsx'
import { gapsOf, yardstickOf, type GapQuestion } from './gaps.ts'
import type { GapInWords } from './gapWords.ts'

const looks: Readonly<Record<GapInWords['verdict'], { tone: Tone; Icon: LucideIcon; words: string }>> = {
  better: { tone: 'good', Icon: ArrowUp, words: 'Better' },
  worse: { tone: 'bad', Icon: ArrowDown, words: 'Worse' },
  different: { tone: 'accent', Icon: CircleHelp, words: 'Different' },
  open: { tone: 'plain', Icon: Equal, words: 'May be chance' },
  unknown: { tone: 'caution', Icon: CircleHelp, words: 'Not known yet' },
}

export function Gap(props: GapQuestion) {
  const gaps = useMemo(() => gapsOf(props), [props])
  const grounds = [...new Set(gaps.map(({ ground }) => ground))]
  const spread = yardstickOf(props)
  const hasBaseline = props.runs.some(({ isBaseline }) => isBaseline)
  return (
    <Panel
      title="Is the gap real?"
      isFlush
      actions={
        <Help about="how this is found">
          Where both sides have two seeds or more, their spread decides (Welch’s t interval). One run is held
          against three seeds or more by where another of them would lie. Otherwise the last values of each
          run are drawn again two thousand times, in blocks, because neighbouring steps resemble each other.
        </Help>
      }
    >
      {!hasBaseline && (
        <p className="p-3 text-muted">Mark a run as baseline to see whether the others differ from it.</p>
      )}
      {hasBaseline && gaps.length === 0 && (
        <p className="p-3 text-muted">
          {spread === null
            ? 'Add another run to compare with the baseline.'
            : 'The runs differ in their seed only.'}
        </p>
      )}
      <ul>
        {gaps.map(({ id, verdict, finding }) => {
          const { tone, Icon, words } = looks[verdict]
          return (
            <li key={id} className="flex items-start gap-3 border-b border-line px-3 py-2 last:border-b-0">
              <span className="w-28 shrink-0 pt-px">
                <Badge tone={tone} icon={<Icon size={11} aria-hidden />}>
                  {words}
                </Badge>
              </span>
              <p className="min-w-0 text-pretty">{finding}</p>
            </li>
          )
        })}
      </ul>
      {(grounds.length > 0 || spread !== null) && (
        <div className="border-t border-line px-3 py-2 text-sm text-faint">
          {spread !== null && <p className="text-pretty">{spread}</p>}
          {grounds.map((ground) => (
            <p key={ground} className="text-pretty">
              {ground}
            </p>
          ))}
        </div>
      )}
    </Panel>
  )
}
