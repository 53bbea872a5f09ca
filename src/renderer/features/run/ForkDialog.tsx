import { GitFork } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { JsonObject } from '#shared/config/paths.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useCommand } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { goToTab } from '#renderer/parts/useRun.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { toast } from '#renderer/client/toasts.ts'
import { plural } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { settingRows, useRunSettings } from '#renderer/client/runSettings.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { lengthChange } from './forkChanges.ts'
import { effectiveOf, SettingsEditor } from './SettingChanges.tsx'

export interface ForkProposal {
  readonly step: number
  /** Proposed changes, which the user may edit. */
  readonly changes: JsonObject
}

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig
  readonly proposal: ForkProposal
  readonly onClose: () => void
}

const LongerNote = ({ steps }: Pick<RunEntry, 'steps'>) => (
  <p className="text-sm text-muted">
    The run was {steps} steps long and this is its last checkpoint, so the fork gets as many again.
  </p>
)

/** Sets up a run from a checkpoint with some settings changed; shows the differences before anything starts. */
export function ForkDialog({ run, config, proposal, onClose }: Props) {
  const known = useRunSettings()
  const rows = useMemo(
    () =>
      settingRows(config, known?.algorithms ?? [], { opensLists: false }).filter(
        ({ field }) => !field.key.startsWith('adapter.'),
      ),
    [config, known],
  )
  const longer = lengthChange({ steps: run.steps, stages: config.stages.length }, proposal.step)
  const [changes, setChanges] = useState<JsonObject>(() => ({ ...longer, ...proposal.changes }))
  const fork = useFork({ run, proposal, onClose })
  const effective = effectiveOf(changes, config)
  const count = Object.keys(effective).length
  const asNewRun = {
    fork: run.id,
    step: String(proposal.step),
    changes: count === 0 ? null : JSON.stringify(effective),
  }
  return (
    <Dialog
      onClose={onClose}
      width={640}
      title={`Fork from step ${String(proposal.step)}`}
      description={`A new run with the adapter, optimizer and data position of checkpoint ${String(proposal.step)}. “${runTitle(run)}” stays as it is.`}
      action={{
        label: count === 0 ? 'Fork unchanged' : `Fork with ${plural(count, 'change')}`,
        icon: GitFork,
        isDisabled: fork.isRunning,
        run: () => void fork.run({ runId: run.id, step: proposal.step, changes: effective, start: true }),
      }}
      aside={
        <Button variant="quiet" className="mr-auto" onClick={() => navigate('/new-run', asNewRun)}>
          Open in New run
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <SettingsEditor
          {...{ rows, changes }}
          error={fork.error}
          empty="Choose settings to change, or fork it unchanged."
          noteOf={(value) => `In the parent: ${value}`}
          onChange={setChanges}
        >
          {'steps' in longer && <LongerNote steps={run.steps} />}
        </SettingsEditor>
      </div>
    </Dialog>
  )
}

const useFork = ({ run, proposal, onClose }: Omit<Props, 'config'>) =>
  useCommand('runs.fork', {
    quiet: true,
    onDone({ runId }) {
      onClose()
      goToTab(runId, 'overview')
      toast({ title: `Forked from step ${String(proposal.step)} of “${runTitle(run)}”` })
    },
  })
