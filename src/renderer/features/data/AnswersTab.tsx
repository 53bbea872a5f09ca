import type { RequestSettings } from '#shared/config/fields.ts'
import { GraduationCap } from 'lucide-react'
import { useMemo, useState } from 'react'
import { answerSettings } from '#shared/api/teaching.ts'
import { link } from '#renderer/client/route.ts'
import { useTask, type Answer } from '#renderer/client/api.tsx'
import { formatCount, plural } from '#renderer/client/format.ts'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { RequestFields, useRequestForm } from '#renderer/kit/RequestForm.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { Busy, EmptyState, ErrorNote, TaskProgress } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { ModelPicker } from '#renderer/parts/ModelPicker.tsx'
import { ModelPlace } from '#renderer/kit/ModelPlace.tsx'
import type { RewardChoice } from '#renderer/parts/rewardChoice.ts'
import { cellText, rowColumn } from '#renderer/parts/columnFacts.ts'
import { TaskForm } from './TaskForm.tsx'
import { usePrompt, usePreviewModel, type Opened } from './usePrompt.ts'
import { TextField } from '#renderer/kit/inputs.tsx'
import { numberColumn, verbatimColumn, plainColumn } from '#renderer/kit/columns.tsx'

type Item = Answer<'datasets.answer'>
type TaughtAnswer = Extract<Item, { answers: readonly unknown[] }>['answers'][number]
type Result = Extract<Item, { result: unknown }>['result']

/** Lets a larger model answer the rows; answers with enough reward become a data set to learn from. */
export function AnswersTab({ opened, name }: { opened: Opened; name: string }) {
  const { version } = opened
  const { prompt } = usePrompt(opened)
  const task = useTask('datasets.answer')
  const [least, setLeast] = useState<number | null>(null)
  return (
    <SplitPane id="data.answers" sizes={[32, 68]} minimums={[300, 420]}>
      <TeacherForm
        rows={version.rows}
        suggestedName={`${name}-answers`}
        isRunning={task.state === 'running'}
        onCancel={task.cancel}
        onStart={(asked) => {
          setLeast(asked.minReward)
          task.start({ versionId: version.id, prompt, ...asked, rewards: [...asked.rewards] })
        }}
      />
      <section aria-label="Answers" className="flex min-h-0 grow flex-col">
        {task.error !== null && <ErrorNote error={task.error} className="m-4" />}
        <Given items={task.items} isRunning={task.state === 'running'} least={least} />
        {task.state === 'idle' && <NothingYet />}
      </section>
    </SplitPane>
  )
}

const NothingYet = () => (
  <EmptyState icon={GraduationCap} title="Learn from a teacher">
    A larger model answers the rows. Answers that earn enough become a data set, from which a small model
    learns by supervised finetuning.
  </EmptyState>
)

interface GivenProps {
  readonly items: readonly Item[]
  readonly isRunning: boolean
  /** Smallest reward of an answer to keep; null: none. */
  readonly least: number | null
}

/** Shows answers as they arrive, and finally the data set. */
function Given({ items, isRunning, least }: GivenProps) {
  const last = items.at(-1)
  const answers = useMemo(
    () => items.flatMap((item) => ('answers' in item ? [...item.answers] : [])),
    [items],
  )
  const columns = useMemo(() => answerColumns(least), [least])
  const [chosen, choose] = useState<string | null>(null)
  const shown = answers.find((answer) => keyOf(answer) === chosen) ?? answers[0]
  if (last === undefined) return isRunning ? <Busy label="Starting the teacher" /> : null
  return (
    <>
      {isRunning && 'progress' in last && (
        <div className="shrink-0 border-b border-line px-6 py-3">
          <TaskProgress progress={last.progress} />
        </div>
      )}
      {'result' in last && <Added {...last.result} />}
      <Table
        label="Answers of the teacher"
        rows={answers}
        columns={columns}
        rowKey={keyOf}
        rowHeight={28}
        isSelected={(answer) => answer === shown}
        onOpen={(answer) => choose(keyOf(answer))}
        empty={<p className="p-4 text-muted">No answer yet.</p>}
      />
      {shown !== undefined && (
        <div className="max-h-2/5 shrink-0 overflow-auto border-t border-line bg-panel px-6 py-3">
          <p className="text-sm text-muted">Answer to row {formatCount(shown.row + 1)}</p>
          <pre dir="auto" className="mt-1 font-mono text-sm whitespace-pre-wrap">
            {shown.text}
          </pre>
        </div>
      )}
    </>
  )
}

function Added({ versionId, answers, truncated, kept, problems }: Result) {
  const [first] = problems
  return (
    <div role="status" className="shrink-0 border-b border-line bg-good-soft px-6 py-3">
      <p>
        Kept {formatCount(kept)} of {plural(answers, 'answer')}
        {truncated > 0 && `; ${formatCount(truncated)} truncated`}.{' '}
        <a className="underline" href={link(`/data/${versionId}`)}>
          Open the new data set
        </a>
        . To learn from it, choose the algorithm sft in a new run.
      </p>
      {first !== undefined && (
        <p className="text-sm text-caution">
          {plural(problems.length, 'prompt')} without an answer. Row {formatCount(first.row + 1)}:{' '}
          {first.problem}
        </p>
      )}
    </div>
  )
}

const keyOf = ({ row, sample }: TaughtAnswer): string => `${String(row)}.${String(sample)}`

const answerColumns = (least: number | null): readonly Column<TaughtAnswer>[] => [
  rowColumn,
  plainColumn(['fate', 'Kept', '116px'], (answer) => <Fate answer={answer} least={least} />),
  numberColumn(['reward', 'Reward', '88px'], ({ reward }) => reward),
  verbatimColumn(['text', 'Answer', 'minmax(240px, 1fr)'], ({ text }) => cellText(text)),
]

function Fate({ answer, least }: { answer: TaughtAnswer; least: number | null }) {
  if (answer.isTruncated) return <Badge tone="caution">truncated</Badge>
  const isLow = least !== null && (answer.reward === null || answer.reward < least)
  return isLow ? <Badge>too low</Badge> : <Badge tone="good">kept</Badge>
}

interface Asked extends RequestSettings<typeof answerSettings> {
  readonly teacher: ModelChoice | { readonly address: string; servedModel?: string; keyVariable?: string }
  readonly rewards: readonly RewardChoice[]
  readonly name: string
}

interface TeacherFormProps {
  readonly rows: number
  readonly suggestedName: string
  readonly isRunning: boolean
  readonly onStart: (asked: Asked) => void
  readonly onCancel: () => void
}

const noRewards: readonly RewardChoice[] = []

/** Chooses the teacher model, its rewards, and which answers are kept. */
function TeacherForm({ rows, suggestedName, isRunning, onStart, onCancel }: TeacherFormProps) {
  const teacher = useTeacher()
  const [rewards, setRewards] = useSetting<readonly RewardChoice[]>('data.answers.rewards', noRewards)
  const form = useRequestForm(answerSettings, { minReward: 1 })
  const [name, setName] = useState(suggestedName)
  const hasRewards = rewards.length > 0
  const isReady = teacher.chosen !== null && form.parsed !== null && name.trim() !== ''
  const start = () => {
    if (teacher.chosen === null || form.parsed === null) return
    const minReward = hasRewards ? form.parsed.minReward : null
    onStart({ ...form.parsed, teacher: teacher.chosen, rewards, minReward, name: name.trim() })
  }
  return (
    <TaskForm
      {...{ isReady, isRunning, onCancel, rewards }}
      action="Answer the rows"
      note="Answers are kept: none is asked for twice."
      onStart={start}
      onRewards={setRewards}
      model={teacher.fields}
      numbers={
        <RequestFields
          form={form}
          without={hasRewards ? [] : ['minReward']}
          labels={{ rows: `Rows (of ${formatCount(rows)})` }}
        />
      }
    >
      <TextField label="Name of the new data set" value={name} onChange={setName} />
    </TaskForm>
  )
}

/** Chooses a local model or one behind an address. `chosen` is null until it is complete. */
function useTeacher() {
  const [usual] = usePreviewModel()
  const [isHere, setHere] = useState(true)
  const [model, setModel] = useState<ModelChoice | null>(null)
  const [address, setAddress] = useState('')
  const [servedModel, setServedModel] = useState('')
  const [keyVariable, setKeyVariable] = useState('')
  const choice = model ?? (usual === null ? null : { model: usual })
  const isAddress = /^https?:\/\/./.test(address)
  const away = {
    address,
    ...(servedModel === '' ? {} : { servedModel }),
    ...(keyVariable === '' ? {} : { keyVariable }),
  }
  const fields = (
    <>
      <ModelPlace
        label="Where the teacher is"
        value={isHere ? 'machine' : 'address'}
        onChange={(place) => setHere(place === 'machine')}
      />
      {isHere ? (
        <Field label="Teacher" help="A larger model, or a checkpoint that answers well.">
          {(ids) => (
            <ModelPicker {...ids} label="Teacher" withCheckpoints value={choice} onChange={setModel} />
          )}
        </Field>
      ) : (
        <div className="flex flex-col gap-2">
          <TextField
            label="Address"
            help="Of a server that speaks OpenAI’s API. The prompts are sent to it."
            error={address === '' || isAddress ? null : 'Begins with http:// or https://'}
            value={address}
            onChange={setAddress}
          />
          <TextField
            label="Model at the address"
            help="Empty: the first it lists."
            value={servedModel}
            onChange={setServedModel}
          />
          <TextField
            label="Variable with the key"
            help="Environment variable of the host; empty: no key."
            value={keyVariable}
            onChange={setKeyVariable}
          />
        </div>
      )}
    </>
  )
  return { fields, chosen: isHere ? choice : isAddress ? away : null }
}
