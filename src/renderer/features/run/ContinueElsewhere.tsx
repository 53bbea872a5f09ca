import { CircleCheck, FolderOpen } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { commandWord } from '#shared/shownText.ts'
import { toolTitles } from '#shared/tools.ts'
import { shell } from '#renderer/client/connection.ts'
import { FolderField, useExportFolder } from '#renderer/parts/ExportFolder.tsx'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import type { RunEntry } from '#renderer/client/runs.ts'
import { plural } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { classes } from '#renderer/kit/classes.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { SegmentedField, SelectField } from '#renderer/kit/choices.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Busy, CopyButton, ErrorNote } from '#renderer/kit/states.tsx'
import { joinPath } from '#renderer/parts/exportPlan.ts'
import { checkpointWords } from '#renderer/client/modelChoice.ts'

interface ContinueElsewhereProps {
  readonly run: RunEntry
  /** Step of the proposed checkpoint; null: the start of the run. */
  readonly step: number | null
  readonly onClose: () => void
}

/** Exports a run as a folder that another tool starts from: data, rewards, all settings, and the current adapter. */
export function ContinueElsewhere({ run, step, onClose }: ContinueElsewhereProps) {
  const [report, setReport] = useState<ProjectReport | null>(null)
  if (report !== null) return <Written report={report} onAgain={() => setReport(null)} onClose={onClose} />
  return <ProjectForm run={run} step={step} onDone={setReport} onClose={onClose} />
}

interface FormProps extends ContinueElsewhereProps {
  readonly onDone: (report: ProjectReport) => void
}

const asBegun = 'begin'

const checkpointOption = (checkpoint: Answer<'checkpoints.list'>[number]) => ({
  value: String(checkpoint.step),
  label: `Adapter of ${checkpointWords(checkpoint).replace(/^S/, 's')}`,
  disabled: checkpoint.problem !== null,
})

function ProjectForm({ run, step: proposed, onDone, onClose }: FormProps) {
  const [tool, setTool] = useState<ProjectTool>('trl')
  const [step, setStep] = useState(proposed)
  const write = useCommand('runs.exportProject', { quiet: true, onDone })
  const checkpoints = useAnswer('checkpoints.list', { runId: run.id }).data ?? []
  const name = projectName(runTitle(run), step, tool)
  const folder = useExportFolder(name, 'Write the project into')
  const path = folder.out.trim()
  const start = () =>
    void write.run({
      source: { runId: run.id, ...(step === null ? {} : { step }) },
      tool,
      path,
    })
  return (
    <Dialog
      width={600}
      title="Continue elsewhere"
      description={`Writes “${runTitle(run)}” as a project for another tool: rows, rewards, every setting, and a README that lists the differences. The run itself stays as it is.`}
      onClose={onClose}
      action={{ label: 'Write project', isDisabled: write.isRunning || path === '', run: start }}
    >
      <div className="grid gap-3">
        <SegmentedField
          label="Tool"
          value={tool}
          options={[
            { value: 'trl', label: toolTitles.trl },
            { value: 'agilerl', label: toolTitles.agilerl },
          ]}
          onChange={setTool}
        />
        <SelectField
          label="Training there begins with"
          value={step === null ? asBegun : String(step)}
          options={[
            { value: asBegun, label: 'What this run began with' },
            ...checkpoints.toReversed().map(checkpointOption),
          ]}
          onChange={(next) => setStep(next === asBegun ? null : Number(next))}
        />
        <FolderField folder={folder} inside={name} />
        {write.isRunning && <Busy label="Writing rows and rewards" />}
        {write.error !== null && <ErrorNote error={write.error} />}
      </div>
    </Dialog>
  )
}

interface WrittenProps {
  readonly report: ProjectReport
  readonly onAgain: () => void
  readonly onClose: () => void
}

const Differences = ({ notes }: Pick<ProjectReport, 'notes'>) => (
  <Part title="Differences from Turnwise">
    {notes.length === 0 && <p className="text-muted">None found.</p>}
    <ul className="grid gap-1">
      {notes.map((note) => (
        <li key={note} className="text-sm text-pretty text-muted">
          {note}
        </li>
      ))}
    </ul>
  </Part>
)

/** Lists the written files, how to start them, and differences from Turnwise. */
function Written({ report, onAgain, onClose }: WrittenProps) {
  const { directory, files, fixtures, notes, version } = report
  const lines = startLines(report)
  return (
    <Dialog
      width={720}
      title={`Written for ${version}`}
      onClose={onClose}
      actions={
        <>
          <Button className="mr-auto" variant="quiet" onClick={onAgain}>
            Write another
          </Button>
          {shell !== null && (
            <Button icon={FolderOpen} onClick={() => void shell?.reveal(directory)}>
              Show in folder
            </Button>
          )}
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <div className="grid gap-4" role="status">
        <WrittenTo {...{ directory, fixtures }} />
        <Part title="Start it" aside={<CopyButton text={lines.join(' && ')} label="Copy the commands" />}>
          <pre
            tabIndex={0}
            className="overflow-auto rounded border border-line bg-panel px-3 py-2 font-mono text-sm"
          >
            {lines.join('\n')}
          </pre>
        </Part>
        <Differences notes={notes} />
        <Part title={plural(files.length, 'file')} name="Files">
          <ul className="grid grid-cols-2 gap-x-4 font-mono text-sm text-muted">
            {files.map((file) => (
              <li key={file} className="truncate" title={file}>
                {file}
              </li>
            ))}
          </ul>
        </Part>
      </div>
    </Dialog>
  )
}

const WrittenTo = ({ directory, fixtures }: Pick<ProjectReport, 'directory' | 'fixtures'>) => (
  <div className="flex items-start gap-2">
    <CircleCheck size={16} aria-hidden className="mt-0.5 shrink-0 text-good" />
    <div className="min-w-0">
      <p className="flex items-start gap-1">
        <span className="min-w-0 pt-0.5 font-mono text-sm break-all">{directory}</span>
        <CopyButton text={directory} label="Copy path" />
      </p>
      {fixtures > 0 && (
        <p className="text-sm text-muted">
          {plural(fixtures, 'scored sample')} checks there that the rewards equal those of the run.
        </p>
      )}
    </div>
  </div>
)

interface PartProps {
  readonly title: string
  /** Accessible name if it is not the title. */
  readonly name?: string
  readonly aside?: ReactNode
  readonly children: ReactNode
}

const Part = ({ title, name = title, aside, children }: PartProps) => (
  <section aria-label={name}>
    <h3 className={classes('mb-1 font-medium', aside !== undefined && 'flex items-center gap-1')}>
      {title}
      {aside}
    </h3>
    {children}
  </section>
)

// Export of a run to another tool: name of the folder, and commands to start training there.

type ProjectReport = Answer<'runs.exportProject'>
type ProjectTool = ProjectReport['tool']

/** Formats `arith 3` at step 40 as `arith-3-step-40-trl`; at the start of the run, without a step. */
export const projectName = (run: string, step: number | null, tool: ProjectTool): string =>
  [slugOf(run), ...(step === null ? [] : [`step-${String(step)}`]), tool].join('-')

const launches: Readonly<Record<ProjectTool, string>> = {
  trl: 'accelerate launch --config_file accelerate.yaml train.py',
  agilerl: 'python train.py',
}

/** Returns shell commands for the machine that will train. */
export const startLines = ({
  directory,
  tool,
}: Pick<ProjectReport, 'directory' | 'tool'>): readonly string[] => [
  `cd ${commandWord(joinPath(directory, tool))}`,
  'pip install -r requirements.txt',
  launches[tool],
]

/** Reduces a name to characters that are valid in folder names everywhere. */
const slugOf = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').replaceAll(/^[-.]+|[-.]+$/g, '') || 'run'
