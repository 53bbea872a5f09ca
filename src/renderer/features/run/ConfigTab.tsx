import { Download } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { historyWords } from '#shared/config/changes.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useKeys } from '#renderer/client/keys.ts'
import { navigate } from '#renderer/client/route.ts'
import { dataName } from '#renderer/parts/runFacts.ts'
import { useDataNames, type RunRecord } from '#renderer/parts/useRun.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Segmented } from '#renderer/kit/choices.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { CopyButton, EmptyState, Loading } from '#renderer/kit/states.tsx'
import { saveText } from '#renderer/client/download.ts'
import {
  searched,
  settingRows,
  settingWords,
  useRunSettings,
  valueText,
  type RunSetting,
} from '#renderer/client/runSettings.ts'

interface Props {
  readonly run: RunEntry
  readonly record: RunRecord | null
  readonly config: RunConfig | null
}

/** Lists all settings of the run, differences from the defaults, and the manifest. */
export function ConfigTab({ run, record, config }: Props) {
  const known = useRunSettings()
  const [text, setText] = useState('')
  const [shown, setShown] = useState<'all' | 'changed'>('all')
  const search = useRef<HTMLInputElement>(null)
  useKeys({ filter: () => search.current?.focus() })
  const rows = useMemo(
    () => (known === null || config === null ? [] : settingRows(config, known.algorithms)),
    [config, known],
  )
  if (record === null || config === null || known === null) return <Loading label="Reading the settings" />
  const changed = rows.filter(({ isChanged }) => isChanged)
  const found = searched(shown === 'changed' ? changed : rows, text, known.toolNames)
  return (
    <div className="flex min-w-0 flex-col gap-4 px-page py-6 min-[1100px]:flex-row min-[1100px]:items-start">
      <section className="min-w-0 grow">
        <div className="mb-3 flex flex-wrap items-center gap-2">
          <SearchInput
            ref={search}
            label="Search settings"
            value={text}
            onChange={setText}
            className="w-64"
          />
          <Segmented
            label="Which settings"
            value={shown}
            onChange={setShown}
            options={{ all: `All ${String(rows.length)}`, changed: `Changed ${String(changed.length)}` }}
          />
          <ConfigActions run={run} config={record.config} />
        </div>
        {found.length === 0 && <EmptyState title="No setting fits." />}
        <Found rows={found} changes={record.settingChanges} />
      </section>
      <Manifest record={record} />
    </div>
  )
}

interface FoundProps extends Pick<SettingProps, 'changes'> {
  readonly rows: readonly RunSetting[]
}

/** Settings by their section. */
const Found = ({ rows, changes }: FoundProps) => (
  <div className="flex flex-col gap-3">
    {sectionsOf(rows).map(({ name, rows: inside }) => (
      <Panel key={name} isFlush title={<code>{name}</code>}>
        <ul>
          {inside.map((row) => (
            <Setting key={row.field.key} row={row} section={name} changes={changes} />
          ))}
        </ul>
      </Panel>
    ))}
  </div>
)

/** Groups rows by the first part of their key, in order. */
function sectionsOf(rows: readonly RunSetting[]) {
  const bySection = Map.groupBy(
    rows,
    ({ field }) => /^[^.[]+[.[]/.exec(field.key)?.[0].slice(0, -1) ?? 'general',
  )
  return [...bySection].map(([name, inside]) => ({ name, rows: inside }))
}

const fileName = ({ name, id }: RunEntry): string => (name ?? id).replace(/[^\w.-]+/g, '-')

interface SettingProps {
  readonly row: RunSetting
  readonly section: string
  readonly changes: RunEntry['settingChanges']
}

function Setting({ row: { field, value, isChanged }, section, changes }: SettingProps) {
  const history = changes.filter((change) => change.key === field.key)
  const { key, help, default: defaultValue } = field
  const name = key.startsWith(`${section}.`) ? key.slice(section.length + 1) : key
  const text = settingWords(key, value, useRunSettings()?.algorithms ?? [])
  const isLong = text.length > 48
  return (
    <li className="grid min-h-7 grid-cols-[12px_minmax(0,17rem)_minmax(0,1fr)] items-center gap-x-2 border-line px-3 py-0.5 not-first:border-t">
      <span aria-hidden className={classes('size-1.5 rounded-full', isChanged && 'bg-accent')} />
      <span className="flex min-w-0 items-center">
        <code className={classes('truncate text-sm', isChanged && 'font-medium')} title={key}>
          {name}
        </code>
        {help !== '' && <Help about={key}>{help}</Help>}
      </span>
      <span className="flex min-w-0 items-baseline gap-3">
        <code
          className={classes(
            'min-w-0 text-sm',
            isLong ? 'break-all' : 'truncate',
            !isChanged && 'text-muted',
          )}
          title={valueText(value)}
        >
          {text}
        </code>
        {history.length > 0 && (
          <span className="shrink-0 text-sm text-muted">
            within the run: <code>{historyWords(history)}</code>
          </span>
        )}
        {isChanged && defaultValue !== undefined && (
          <span className="shrink-0 text-sm text-faint">
            default <code>{valueText(defaultValue)}</code>
          </span>
        )}
      </span>
    </li>
  )
}

const ConfigActions = ({ run, config }: { readonly run: RunEntry; readonly config: string }) => (
  <span className="ml-auto flex items-center gap-1">
    <CopyButton text={config} label="Copy the settings as JSON" />
    <Button
      small
      icon={Download}
      onClick={() => saveText(config, `${fileName(run)}.json`, 'application/json')}
    >
      Save as file
    </Button>
    <Button small onClick={() => navigate('/new-run', { copy: run.id })}>
      Copy to a new run
    </Button>
  </span>
)

const digestsOf = (
  { config, model, data, rewards }: NonNullable<RunRecord['manifest']>,
  names: ReadonlyMap<string, string>,
) => [
  ...[['Settings', config] as const, ['Model', model] as const],
  ...Object.entries(data).map(([file, digest]) => [`Data ${dataName(file, names)}`, digest] as const),
  ...Object.entries(rewards).map(([name, digest]) => [`Reward ${name}`, digest] as const),
]

/** Shows digests of everything that determines the run. */
function Manifest({ record: { manifest, id, directory, seed } }: { record: RunRecord }) {
  const names = useDataNames()
  return (
    <aside className="flex w-full shrink-0 flex-col gap-3 min-[1100px]:w-80">
      <Panel
        title={
          <span className="inline-flex items-center">
            Manifest
            <Help about="the manifest">
              SHA-256 digests of everything that determines the run: with equal digests, the same steps give
              the same numbers on the same machine.
            </Help>
          </span>
        }
        actions={
          manifest !== null && (
            <CopyButton text={JSON.stringify(manifest, null, 2)} label="Copy the manifest" />
          )
        }
      >
        {manifest === null ? (
          <p className="text-muted">Recorded when training starts.</p>
        ) : (
          <dl className="flex flex-col gap-2">
            <Digest name="Made with" text={manifest.app} isWhole />
            {digestsOf(manifest, names).map(([name, digest]) => (
              <Digest key={`${name} ${digest}`} name={name} text={digest} />
            ))}
          </dl>
        )}
      </Panel>
      <Panel title="Place">
        <dl className="flex flex-col gap-2">
          <Digest name="Run" text={id} isWhole />
          <Digest name="Folder" text={directory} isWhole />
          <Digest name="Seed" text={String(seed)} isWhole />
        </dl>
      </Panel>
    </aside>
  )
}

const Digest = ({ name, text, isWhole = false }: { name: string; text: string; isWhole?: boolean }) => (
  <div className="min-w-0">
    <dt className="truncate text-sm text-muted" title={name}>
      {name}
    </dt>
    <dd className="flex items-center gap-1">
      <code className={classes('min-w-0 grow text-sm', isWhole ? 'break-all' : 'truncate')}>
        {isWhole ? text : text.slice(0, 16)}
      </code>
      <CopyButton text={text} label={`Copy ${name}`} />
    </dd>
  </div>
)
