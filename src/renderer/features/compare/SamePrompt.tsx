import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useMemo, useState } from 'react'
import { formatReward } from '#renderer/client/format.ts'
import { link } from '#renderer/client/route.ts'
import { IconButton } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Segmented, Select } from '#renderer/kit/choices.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { LineMark } from '#renderer/charts/marks.tsx'
import { distinctWords } from '#renderer/parts/groups.ts'
import { useRowSamples, useSamplesOf, type Sample } from './useCompared.ts'
import type { ComparedRun } from './data.ts'
import { diffArrays } from 'diff'

const maxColumns = 4

/** Prompts that several runs answered, and the answers to the chosen one; those of the baseline come first. */
function useAnswersOf(runs: readonly ComparedRun[]) {
  const shown = useMemo(
    () =>
      [...runs.filter(({ isBaseline }) => isBaseline), ...runs.filter(({ isBaseline }) => !isBaseline)].slice(
        0,
        maxColumns,
      ),
    [runs],
  )
  const ids = useMemo(() => shown.map(({ id }) => id), [shown])
  const newest = useSamplesOf(ids, true)
  const prompts = useMemo(() => sharedPrompts(ids.map((id) => newest.get(id) ?? [])), [ids, newest])
  const [chosen, setChosen] = useState(0)
  const [at, setAt] = useState<'first' | 'last'>('last')
  const index = Math.min(chosen, prompts.length - 1)
  const prompt = prompts[index]
  const samples = useRowSamples(ids, prompt?.row ?? null)
  const answers = shown.map((run) => ({
    run,
    sample: sampleAt(
      (samples.get(run.id) ?? []).filter((sample) => sample.prompt === prompt?.prompt),
      at,
    ),
  }))
  return { ids, newest, prompts, index, setChosen, at, setAt, answers }
}

/** Compares the runs' answers to the same prompt, word by word against the baseline. */
export function SamePrompt({ runs }: { runs: readonly ComparedRun[] }) {
  const { ids, newest, prompts, index, setChosen, at, setAt, answers } = useAnswersOf(runs)
  const prompt = prompts[index]
  const base = answers.find(({ sample }) => sample !== undefined)
  return (
    <Panel
      title="The same prompt"
      isFlush
      actions={
        prompt !== undefined && (
          <PromptActions prompts={prompts} index={index} onIndex={setChosen} at={at} onAt={setAt} />
        )
      }
    >
      {prompt === undefined || base?.sample === undefined ? (
        <p className="p-3 text-muted">
          {newest.size < ids.length
            ? 'Searching for prompts that several runs answered…'
            : 'No two of these runs answered the same prompt. Models with different chat templates read different ones; runs of one model with the same data share those of their validation rows.'}
        </p>
      ) : (
        <>
          <p dir="auto" className="border-b border-line px-3 py-2 font-mono text-sm whitespace-pre-wrap">
            {prompt.prompt}
          </p>
          <div
            className="grid"
            style={{ gridTemplateColumns: `repeat(${String(answers.length)}, minmax(0, 1fr))` }}
          >
            {answers.map(({ run, sample }) => (
              <Answer
                key={run.id}
                run={run}
                sample={sample}
                base={sample === base.sample ? null : (base.sample ?? null)}
              />
            ))}
          </div>
          {runs.length > maxColumns && (
            <p className="border-t border-line px-3 py-2 text-sm text-faint">
              The first {maxColumns} runs are shown; hide some to see others.
            </p>
          )}
        </>
      )}
    </Panel>
  )
}

interface ActionsProps {
  readonly prompts: readonly AnsweredPrompt[]
  readonly index: number
  readonly onIndex: (index: number) => void
  readonly at: 'first' | 'last'
  readonly onAt: (at: 'first' | 'last') => void
}

function PromptActions({ prompts, index, onIndex, at, onAt }: ActionsProps) {
  const labels = useMemo(() => promptLabels(prompts.map(({ prompt }) => prompt)), [prompts])
  return (
    <>
      <Segmented label="Which sample" value={at} options={{ first: 'First', last: 'Last' }} onChange={onAt} />
      <IconButton
        small
        label="Previous prompt"
        icon={ChevronLeft}
        iconSize={14}
        disabled={index <= 0}
        onClick={() => onIndex(index - 1)}
      />
      <Select
        small
        aria-label="Prompt"
        className="w-72 max-w-full"
        value={String(index)}
        options={prompts.map(({ runs }, i) => ({
          value: String(i),
          label: `${labels[i] ?? ''} (${String(runs)} runs)`,
        }))}
        onChange={(value) => onIndex(Number(value))}
      />
      <IconButton
        small
        label="Next prompt"
        icon={ChevronRight}
        iconSize={14}
        disabled={index >= prompts.length - 1}
        onClick={() => onIndex(index + 1)}
      />
    </>
  )
}

interface AnswerProps {
  readonly run: ComparedRun
  readonly sample: Sample | undefined
  /** Baseline sample; null for the baseline itself. */
  readonly base: Sample | null
}

function Answer({ run, sample, base }: AnswerProps) {
  const parts: readonly DiffPart[] = useMemo(() => {
    if (!sample) return []
    return base ? wordDiff(base.completion, sample.completion) : [{ kind: 'same', text: sample.completion }]
  }, [sample, base])
  return (
    <div className="min-w-0 border-l border-line p-3 first:border-l-0">
      <div className="mb-2 flex items-center gap-2">
        <LineMark color={run.style.color} dash={run.style.dash} isThick={run.isBaseline} />
        <span className="min-w-0 truncate font-medium">{run.label}</span>
        {sample && (
          <a
            href={link(`/runs/${run.id}/samples`, { step: String(sample.step) })}
            className="ml-auto shrink-0 text-sm whitespace-nowrap text-faint hover:underline"
          >
            step {sample.step}
          </a>
        )}
      </div>
      {sample ? (
        <>
          <p dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
            {parts.map((part, i) => (
              <Part key={i} part={part} />
            ))}
          </p>
          <p className="mt-2 text-sm text-muted">
            reward <span className="font-mono tabular-nums text-text">{formatReward(sample.reward)}</span>
            {base && sample.reward !== null && base.reward !== null && sample.reward !== base.reward && (
              <span className={sample.reward > base.reward ? 'text-good' : 'text-bad'}>
                {' '}
                ({sample.reward > base.reward ? '+' : '−'}
                {formatReward(Math.abs(sample.reward - base.reward))})
              </span>
            )}
            {' · '}
            {sample.source === 'evaluation' ? 'eval, greedy' : 'rollout'}
          </p>
        </>
      ) : (
        <p className="text-sm text-faint">No sample of this prompt.</p>
      )}
    </div>
  )
}

/** Underlines added words and strikes removed ones, so that colour is not the only sign. */
const Part = ({ part: { kind, text } }: { part: DiffPart }) => {
  if (kind === 'same') return <span>{text}</span>
  return kind === 'added' ? (
    <ins className={classes('rounded-sm bg-good-soft text-good underline')}>{text}</ins>
  ) : (
    <del className={classes('rounded-sm bg-bad-soft text-bad line-through')}>{text}</del>
  )
}

/* Prompts that several runs answered. */

interface AnsweredPrompt {
  readonly row: number
  readonly prompt: string
  readonly runs: number
}

interface SampleLike {
  readonly row: number
  readonly prompt: string
  readonly source: 'rollout' | 'evaluation'
  readonly step: number
}

/** Matches rows by prompt text, since row numbers differ between data sets. Prompts answered by the most runs come first. */
export function sharedPrompts(samples: readonly (readonly SampleLike[])[]): readonly AnsweredPrompt[] {
  const found = new Map<string, { row: number; prompt: string; runs: number }>()
  for (const own of samples) {
    const seen = new Set<string>()
    for (const { row, prompt } of own) {
      const key = `${String(row)}\n${prompt}`
      if (seen.has(key)) continue
      seen.add(key)
      const known = found.get(key)
      if (known) known.runs++
      else found.set(key, { row, prompt, runs: 1 })
    }
  }
  return [...found.values()].filter(({ runs }) => runs > 1).sort((a, b) => b.runs - a.runs || a.row - b.row)
}

/** Returns the sample of the first or last step, preferring greedy ones of evaluations over sampled ones of that step. */
export function sampleAt<Sample extends SampleLike>(
  samples: readonly Sample[],
  at: 'first' | 'last',
): Sample | undefined {
  const sign = at === 'last' ? -1 : 1
  return samples.toSorted(
    (a, b) =>
      sign * (a.step - b.step) || Number(b.source === 'evaluation') - Number(a.source === 'evaluation'),
  )[0]
}

/** Shortens prompts for a list: from where they differ, without the marks of a chat template. */
export const promptLabels = (prompts: readonly string[]): readonly string[] =>
  distinctWords(prompts).map((text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text))

// Word-by-word comparison of two texts.

interface DiffPart {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** Number of changed words beyond which the whole text counts as replaced: the time grows with its square. */
const maxEditLength = 2000

/** Splits a text into words, each with the spaces around it. */
const wordsOf = (text: string): string[] => text.match(/\s*\S+\s*|\s+/g) ?? []

export function wordDiff(before: string, after: string): readonly DiffPart[] {
  const changes = diffArrays(wordsOf(before), wordsOf(after), { maxEditLength })
  const replaced: DiffPart[] = [
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ]
  return (
    changes?.map(({ added, removed, value }) => ({
      kind: added ? 'added' : removed ? 'removed' : 'same',
      text: value.join(''),
    })) ?? replaced
  )
}
