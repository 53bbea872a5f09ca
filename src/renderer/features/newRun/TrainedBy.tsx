import { CircleCheck } from 'lucide-react'
import { engineKinds, engineSection } from '#shared/config/engine.ts'
import { isObject, valueAt, withValue } from '#shared/config/paths.ts'
import { toolTitles } from '#shared/tools.ts'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { plural } from '#renderer/client/format.ts'
import { PythonConsent, type PythonAsked } from '#renderer/parts/PythonConsent.tsx'
import { Segmented } from '#renderer/kit/choices.tsx'
import { Busy, CopyButton, ErrorNote } from '#renderer/kit/states.tsx'
import { SettingFields } from './AllSettings.tsx'
import type { Draft } from './draft.ts'
import type { PartProps } from './useNewRun.ts'

type Engine = ReturnType<typeof engineSection.parse>

/** Chooses the trainer of the run, and for an external one whether its Python is allowed and complete. */
export function TrainedBy({ draft, known, problems, onChange }: PartProps) {
  const engine = engineOf(draft)
  const choose = (kind: Engine['kind']) =>
    onChange({
      ...draft,
      // Choices made for an external trainer do not apply to Turnwise itself.
      config: withValue(
        draft.config,
        'engine',
        kind === 'local' ? undefined : { ...engineSaid(draft), kind },
      ),
    })
  const fields = known.fields.filter(({ key }) => shownKeys(engine).includes(key))
  return (
    <section aria-labelledby="trained-by" className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h3 id="trained-by" className="text-sm font-medium text-muted">
          Where
        </h3>
        <Segmented
          label="Where it trains"
          value={engine.kind}
          options={{ local: 'Turnwise, here', trl: 'TRL, in Python', agilerl: 'AgileRL, in Python' }}
          onChange={choose}
        />
      </div>
      {engine.kind !== 'local' && (
        <>
          <p className="max-w-prose text-pretty text-muted">
            {toolTitles[engine.kind]} trains on its own processes and GPUs; the run appears here like any
            other, and Turnwise evaluates its checkpoints. Rewards stay as they are.
          </p>
          <SettingFields fields={fields} draft={draft} problems={problems} onChange={onChange} />
          <Environment asked={{ engine, interpreter: interpreterOf(draft) }} />
        </>
      )}
    </section>
  )
}

const engineSaid = ({ config }: Draft) => {
  const said = valueAt(config, 'engine')
  return isObject(said) ? said : {}
}

/** Fills in defaults; invalid values of the config fall back to a trainer's own. */
const engineOf = (draft: Draft): Engine =>
  engineSection.safeParse(engineSaid(draft)).data ??
  engineSection.parse({ kind: engineKinds.find((kind) => kind === engineSaid(draft)['kind']) })

function interpreterOf({ config }: Draft): string | null {
  const said = valueAt(config, 'python.interpreter')
  return typeof said === 'string' && said !== '' ? said : null
}

const shownKeys = ({ launcher }: Engine): readonly string[] => [
  'engine.python',
  'engine.launcher',
  'engine.processes',
  ...(launcher === 'accelerate' ? ['engine.accelerateConfig'] : []),
  ...(launcher === 'ray' ? ['engine.address', 'engine.runtimeEnv', 'engine.patienceSeconds'] : []),
  ...(launcher === 'command' ? ['engine.command'] : []),
  ...(launcher === 'ray' || launcher === 'command' ? ['engine.model', 'engine.results'] : []),
]

/** Lists installed packages; nothing is started before the user agrees. */
function Environment({ asked }: { readonly asked: Extract<PythonAsked, { readonly engine: unknown }> }) {
  const { data, error, isPending } = useAnswer('python.engine', asked, { staleMs: 60_000 })
  const isRefused = error !== null && 'code' in error && error.code === 'python/not-allowed'
  return (
    <div className="grid grid-cols-1 gap-2 rounded border border-line bg-panel px-3 py-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="font-medium">Python environment</p>
        <PythonConsent asked={asked} />
      </div>
      {isRefused ? (
        <p className="text-muted">Nothing of Python has run: what it has is looked up once it is allowed.</p>
      ) : error !== null ? (
        <ErrorNote error={error} />
      ) : isPending || data === undefined ? (
        <Busy label="Looking at its packages" />
      ) : (
        data !== null && <Packages environment={data} />
      )}
    </div>
  )
}

function Packages({ environment }: { readonly environment: NonNullable<Answer<'python.engine'>> }) {
  const { interpreter, cluster, python, packages, gpus, install, notice } = environment
  return (
    <>
      <p className="font-mono text-sm break-all text-muted">
        {cluster ?? interpreter} · Python {python} · {gpus === 0 ? 'no GPU' : plural(gpus, 'GPU')}
      </p>
      <ul className="flex flex-wrap gap-x-4 gap-y-1" aria-label="Packages">
        {packages.map(({ name, version }) => (
          <li key={name}>
            {name}{' '}
            <span className={version === null ? 'font-medium text-bad' : 'tabular-nums text-muted'}>
              {version ?? 'missing'}
            </span>
          </li>
        ))}
      </ul>
      {install === null ? (
        <p className="flex items-center gap-1">
          <CircleCheck size={14} aria-hidden className="text-good" /> Everything is there.
        </p>
      ) : (
        <div className="flex items-start gap-2">
          <code className="min-w-0 flex-1 rounded border border-line bg-bg px-2 py-1 text-sm break-all">
            {install}
          </code>
          <CopyButton text={install} label="Copy the command" />
        </div>
      )}
      {notice !== null && <p className="text-pretty text-muted">{notice}</p>}
    </>
  )
}
