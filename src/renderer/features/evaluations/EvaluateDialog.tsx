import { Gauge } from 'lucide-react'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { formatCount } from '#renderer/client/format.ts'
import { DataPicker } from '#renderer/parts/DataPicker.tsx'
import { CandidatePickers } from '#renderer/parts/CandidatePickers.tsx'
import { EnvironmentPicker, WorkflowPicker } from '#renderer/features/rewards/CodePicker.tsx'
import { RewardPicker } from '#renderer/features/rewards/RewardPicker.tsx'
import { choiceName } from '#renderer/parts/rewardChoice.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Checkbox, Segmented, type Option } from '#renderer/kit/choices.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { NumberInput } from '#renderer/kit/inputs.tsx'
import { RequestFields } from '#renderer/kit/RequestForm.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import {
  hasOwnRows,
  isWhole,
  rewardsOf,
  useEvaluateForm,
  type Evaluation,
  type RowSource,
} from './useEvaluateForm.ts'

interface EvaluateDialogProps {
  readonly candidates: readonly ModelChoice[]
  readonly onCandidates: (candidates: readonly ModelChoice[]) => void
  readonly evaluations: readonly Evaluation[]
  readonly onClose: () => void
  readonly onStarted: (id: string) => void
}

type Form = ReturnType<typeof useEvaluateForm>

/** Sets up an evaluation: model, data, rewards and sampling. */
export function EvaluateDialog(props: EvaluateDialogProps) {
  const { candidates, onCandidates, evaluations, onClose, onStarted } = props
  const form = useEvaluateForm(candidates, evaluations)
  const { set, error, problem } = form
  const start = () =>
    void form.start().then((id) => {
      if (id !== undefined) onStarted(id)
    })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Evaluate"
      description="Runs in the background, even with this window closed. Results and completions are kept."
      width={640}
      actions={
        <>
          <span className="mr-auto self-center text-sm text-faint">{problem}</span>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="primary"
            icon={Gauge}
            disabled={problem !== null || form.isStarting}
            onClick={start}
          >
            Evaluate
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {error !== null && <ErrorNote error={error} />}
        <CandidatePickers candidates={candidates} onChange={onCandidates} />
        <Rows form={form} />
        <Answering form={form} />
        {form.canAddBase && (
          <Checkbox
            checked={form.withBase}
            onChange={(withBase) => set({ withBase })}
            label="Also evaluate the base model, to compare with"
          />
        )}
      </div>
    </Dialog>
  )
}

function Rows({ form }: { form: Form }) {
  const { draft, set, own } = form
  const { source, rewards } = draft
  const sources: readonly Option<RowSource>[] = [
    ...(hasOwnRows(own) ? [{ value: 'run' as const, label: 'Validation rows' }] : []),
    { value: 'data', label: 'A data set' },
    { value: 'environment', label: 'An environment' },
  ]
  return (
    <div className="flex flex-col gap-3">
      <div>
        <p className="flex min-h-7 items-center text-sm font-medium text-muted">Rows</p>
        <Segmented label="Rows" value={source} options={sources} onChange={(next) => set({ source: next })} />
      </div>
      {source === 'run' && own !== undefined && (
        <p className="text-muted text-pretty">
          {own.environment === null
            ? `The run’s validation rows and prompts, scored by ${rewardsOf(own).map(choiceName).join(', ') || 'its workflow'}.`
            : `New episodes of the run’s environment, ${own.environment.function}.`}
        </p>
      )}
      {source === 'data' && (
        <>
          <DataPicker value={draft.versionId} onChange={(versionId) => set({ versionId })} />
          <RewardPicker value={rewards} onChange={(next) => set({ rewards: next })} />
        </>
      )}
      {source === 'environment' && (
        <>
          <EnvironmentPicker value={draft.environment} onChange={(environment) => set({ environment })} />
          <Field label="Episodes" error={isWhole(draft.episodes, 1, 1e6) ? null : 'At least 1'}>
            {(ids) => (
              <NumberInput {...ids} value={draft.episodes} onChange={(episodes) => set({ episodes })} />
            )}
          </Field>
        </>
      )}
      <WorkflowPicker value={draft.workflow} onChange={(workflow) => set({ workflow })} />
    </div>
  )
}

function Answering({ form }: { form: Form }) {
  const { draft, set } = form
  return (
    <div className="flex flex-col gap-3">
      <div>
        <p className="flex min-h-7 items-center text-sm font-medium text-muted">Decoding</p>
        <Segmented
          label="Decoding"
          value={draft.isGreedy ? 'greedy' : 'sampled'}
          options={[
            { value: 'greedy', label: 'Greedy: one completion' },
            { value: 'sampled', label: 'Sampled: several completions, pass@k' },
          ]}
          onChange={(decoding) => set({ isGreedy: decoding === 'greedy' })}
        />
      </div>
      <div className="grid grid-cols-2 gap-3">
        {!draft.isGreedy && <RequestFields form={form.settings} only={['samples']} />}
        <RequestFields form={form.sampling} without={draft.isGreedy ? ['temperature'] : []} />
        {draft.source !== 'environment' && (
          <RequestFields
            form={form.settings}
            only={['limit']}
            placeholders={form.rowCount === null ? {} : { limit: `all ${formatCount(form.rowCount)}` }}
          />
        )}
        <RequestFields form={form.settings} only={['passAt']} />
      </div>
    </div>
  )
}
