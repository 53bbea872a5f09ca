import { useEffect, useRef, type ComponentType, type RefObject } from 'react'
import type { ViewId } from '#shared/places.ts'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page, KeyValue } from '#renderer/kit/Page.tsx'
import { link, useRoute } from '#renderer/client/route.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { shell } from '#renderer/client/connection.ts'
import { CopyButton, Loading } from '#renderer/kit/states.tsx'
import { AppearanceSection } from './Appearance.tsx'
import { DevicesSection } from './Devices.tsx'
import { NotificationsSection } from './Notifications.tsx'
import { KeysSection } from './Keys.tsx'
import { AgentsSection, PythonSection, SentKeysSection } from './Consents.tsx'
import { SelfTestSection } from './SelfTest.tsx'
import { ServerSection } from './Server.tsx'
import { StorageSection } from './Storage.tsx'
import { HubAccess } from './HubAccess.tsx'
import { connectionPurposes, purposeNames } from '#shared/connections.ts'
import { Section } from './Section.tsx'
import { ShieldCheck } from 'lucide-react'
import { formatTime, plural } from '#renderer/client/format.ts'
import { useLoad, type Load } from '#renderer/client/live.ts'
import { networkWords } from '#renderer/client/words.ts'
import { Button } from '#renderer/kit/Button.tsx'

interface SettingsPart {
  /** Section of #shared/places.ts; the first needs none. */
  readonly id?: string
  readonly Content: ComponentType
}

const pages: Readonly<Partial<Record<ViewId, readonly SettingsPart[]>>> = {
  machine: [
    { id: 'devices', Content: DevicesSection },
    { id: 'self-test', Content: SelfTestSection },
    { id: 'about', Content: AboutSection },
  ],
  access: [
    { id: 'notifications', Content: NotificationsSection },
    { id: 'python', Content: PythonSection },
    { id: 'keys-sent', Content: SentKeysSection },
    { id: 'assistants', Content: AgentsSection },
    { id: 'server', Content: ServerSection },
    { id: 'hub', Content: HubAccess },
    { id: 'privacy', Content: PrivacySection },
  ],
  storage: [{ Content: StorageSection }],
  appearance: [
    { id: 'theme', Content: AppearanceSection },
    { id: 'keys', Content: KeysSection },
  ],
}

/** Settings of the program; settings of runs are in the run setup. `?at=`: the section to show first. */
export function SettingsScreen() {
  const { here, query } = useRoute()
  const at = query.get('at')
  const body = useRef<HTMLDivElement>(null)
  useSectionInView(body, at)
  const parts = (here === null ? undefined : pages[here.view.id]) ?? []
  return (
    <Page isFull>
      <div className={besideClasses}>
        {here?.view.sections !== undefined && <Contents sections={here.view.sections} at={at} />}
        <div
          ref={body}
          role="region"
          aria-label={here?.view.title}
          tabIndex={0}
          className="relative min-h-0 min-w-0 grow overflow-auto px-page py-6 narrow:overflow-visible -outline-offset-2"
        >
          <div className="max-w-200">
            {parts.map(({ id, Content }) => (
              <div key={id ?? 'all'} data-section={id}>
                <Content />
              </div>
            ))}
          </div>
        </div>
      </div>
    </Page>
  )
}

/** Links to the sections of a long page. */
const Contents = ({ sections, at }: { sections: Readonly<Record<string, string>>; at: string | null }) => (
  <nav
    aria-label="On this page"
    className="w-40 shrink-0 border-r border-line p-3 narrow:w-full narrow:border-r-0 narrow:border-b"
  >
    <ul className="grid gap-0.5 narrow:flex narrow:flex-wrap">
      {Object.entries(sections).map(([id, title]) => (
        <li key={id}>
          <a
            href={link(`/settings/${id}`)}
            aria-current={id === at ? 'location' : undefined}
            className="flex h-7 items-center rounded px-2 text-muted hover:bg-raised hover:text-text aria-[current=location]:font-medium aria-[current=location]:text-text"
          >
            {title}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

/** Keeps a section at the top while those above it are still growing, until the user scrolls. */
function useSectionInView(body: RefObject<HTMLDivElement | null>, at: string | null): void {
  useEffect(() => {
    const scroller = body.current
    const section = at === null ? null : scroller?.querySelector(`[data-section="${CSS.escape(at)}"]`)
    if (scroller === null || section === null || section === undefined) return
    const show = () => section.scrollIntoView({ block: 'start' })
    show()
    const watch = new ResizeObserver(show)
    for (const part of scroller.querySelectorAll('[data-section]')) watch.observe(part)
    const stop = () => watch.disconnect()
    for (const kind of ['wheel', 'pointerdown', 'keydown'] as const)
      scroller.addEventListener(kind, stop, { once: true })
    return stop
  }, [body, at])
}

const licences: readonly (readonly [string, string])[] = [
  [
    'ONNX Runtime, Node.js, better-sqlite3, QuickJS, React, Radix UI, CodeMirror, Recharts, TanStack, cmdk, Zustand, Tailwind CSS, hyparquet, Papa Parse, Jinja for JavaScript, ws, zod, Electron',
    'MIT',
  ],
  ['SQLite', 'public domain'],
  ['Tokenizers for JavaScript (Hugging Face), TypeScript', 'Apache 2.0'],
  ['Lucide icons', 'ISC'],
  ['Inter, JetBrains Mono', 'SIL Open Font License 1.1'],
]

function AboutSection() {
  const { data } = useAnswer('system.info', undefined)
  if (data === undefined) return <Loading />
  const versions = Object.entries(data.versions)
  const text = [
    `turnwise ${data.version}`,
    ...versions.map(([name, version]) => `${name} ${version}`),
    data.platform,
  ].join('\n')
  return (
    <>
      <Section title="Turnwise" actions={<CopyButton text={text} label="Copy the versions" />}>
        <KeyValue
          entries={[
            ['Version', data.version],
            ...versions.map(([name, version]) => [name, version] as const),
            ...(shell === null
              ? [['Window', 'in a browser'] as const]
              : [
                  ['Electron', shell.platform.electron] as const,
                  ['Chromium', shell.platform.chrome] as const,
                ]),
            ['System', data.platform],
            ['Data directory', <code className="font-mono text-sm">{data.dataDirectory}</code>],
          ]}
        />
      </Section>
      <Section
        title="Licence"
        about="Turnwise is free software under the Apache License 2.0; its text is the file LICENSE."
      >
        <table className="w-full max-w-180">
          <caption className="mb-1 text-left text-sm text-muted">Built on</caption>
          <tbody>
            {licences.map(([names, licence]) => (
              <tr key={names} className="border-t border-line align-top">
                <td className="py-1.5 pr-4 text-pretty">{names}</td>
                <td className="w-44 py-1.5 text-muted">{licence}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
    </>
  )
}

/** Explains the network figure in the status strip. */
function PrivacySection() {
  const load = useLoad()
  const { data: requests } = useAnswer('system.requestsByPurpose', undefined, { staleMs: 0 })
  return (
    <>
      {load?.connections !== undefined && <Network {...load} />}
      <Section title="What can make a connection">
        <ul className="grid list-disc gap-1 pl-5">
          {purposeNames.map((purpose) => (
            <li key={purpose}>
              {connectionPurposes[purpose].words} {requestWords(requests?.[purpose])}
            </li>
          ))}
          <li>
            A trainer, a cluster, a training script or Python that you allowed: what these do is not counted.
          </li>
          <li>
            Nothing else: no account, no statistics, no update check, no background download. ONNX Runtime’s
            telemetry is turned off.
          </li>
        </ul>
      </Section>
      <TelemetryFiles />
      <Section title="How this is ensured">
        <ul className="grid list-disc gap-1 pl-5">
          <li>
            This window can load only files that ship with Turnwise and talk only to the host on this machine.
          </li>
          <li>Without the desktop app, the host listens on this machine only and requires a key.</li>
          <li>
            The server for other programs is off until you start it, listens on this machine only, requires a
            key of its own, and is named in the foot of the window while it is on.
          </li>
          <li>
            Reward and environment code runs in a sandbox without files, network or clock, with limits on time
            and memory. Python is not sandboxed, and runs only where you allowed it.
          </li>
          <li>
            Models and adapters are read from safetensors and GGUF files. A key goes to an address only if you
            allowed it. Nothing downloaded is executed except the CUDA library, whose digests ship with
            Turnwise.
          </li>
        </ul>
      </Section>
    </>
  )
}

const requestWords = (count: number | undefined): string => {
  if (count === undefined) return ''
  return count === 0 ? 'None so far.' : `${plural(count, 'request')} so far.`
}

function Network(network: Pick<Load, 'connections' | 'outboundRequests'>) {
  const { connections, outboundRequests } = network
  const { total, since } = networkWords(network)
  const isQuiet = connections.count === 0 && outboundRequests === 0
  return (
    <Section title="Connections to other machines">
      <div className="flex items-center gap-4 rounded border border-line p-4">
        <ShieldCheck size={28} aria-hidden className={isQuiet ? 'text-good' : 'text-muted'} />
        <div>
          <p className="text-xl font-semibold tabular-nums">{total}</p>
          <p className="text-muted">{since}</p>
          {connections.since !== null && (
            <p className="text-muted">
              {plural(outboundRequests, 'request')} to a hub or a server since Turnwise was installed.
            </p>
          )}
        </div>
      </div>
      {connections.latest.length > 0 && (
        <table className="mt-3 w-full text-left tabular-nums">
          <thead className="text-muted">
            <tr>
              <th className="py-1 font-normal">Seen at</th>
              <th className="py-1 font-normal">Address</th>
              <th className="py-1 font-normal">Protocol</th>
              <th className="py-1 font-normal">Process</th>
            </tr>
          </thead>
          <tbody>
            {connections.latest.toReversed().map(({ protocol, address, port, pid, seenAt }) => (
              <tr key={`${String(seenAt)} ${address} ${String(port)}`} className="border-t border-line">
                <td className="py-1">{formatTime(seenAt)}</td>
                <td className="py-1 font-mono">
                  {address.includes(':') ? `[${address}]` : address}:{port}
                </td>
                <td className="py-1 uppercase">{protocol}</td>
                <td className="py-1">{pid}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  )
}

/** Files left by older versions, in which ONNX Runtime reported its use to its maker. */
function TelemetryFiles() {
  const { data: files = [], refetch } = useAnswer('system.telemetryFiles', undefined)
  const { run, isRunning } = useCommand('system.removeTelemetryFiles', { onDone: refetch })
  if (files.length === 0) return null
  return (
    <Section
      title="Left by telemetry"
      about="ONNX Runtime sent usage reports to Microsoft from earlier versions of Turnwise and other programs. Turnwise now turns that off. These files remain; nothing needs them."
      actions={
        <Button disabled={isRunning} onClick={() => void run(undefined)}>
          Remove {plural(files.length, 'file')}
        </Button>
      }
    >
      <ul
        tabIndex={0}
        aria-label="Files"
        className="max-h-40 overflow-y-auto rounded border border-line p-2 font-mono text-sm break-all"
      >
        {files.map((file) => (
          <li key={file}>{file}</li>
        ))}
      </ul>
    </Section>
  )
}
