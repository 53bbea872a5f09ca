import { ChevronRight, Circle, CircleCheck, CircleOff, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { deviceRemarks, deviceTitles, type DeviceCheck, type DeviceSpeed } from '#shared/device.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import {
  formatBytes,
  formatShare,
  memoryWords,
  plural,
  formatDate,
  formatNumber,
} from '#renderer/client/format.ts'
import { useLoad, type Load } from '#renderer/client/live.ts'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { Busy, ErrorNote, TaskProgress } from '#renderer/kit/states.tsx'
import { isSound, useDeviceCheck, useDeviceChecks, type DeviceReport } from '#renderer/client/devices.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { CudaLibrary } from './CudaLibrary.tsx'
import { Section } from './Section.tsx'

/** Devices of this machine, and the work that runs on each. */
export function DevicesSection() {
  const { data, error, refetch } = useAnswer('system.info', undefined)
  const load = useLoad()
  if (error !== null) return <ErrorNote error={error} action={<button onClick={refetch}>Try again</button>} />
  if (data === undefined) return <Busy label="Asking the runtime for its devices" />
  const { cpu, devices, platform } = data
  return (
    <>
      <Section title="This machine">
        <KeyValue
          entries={[
            ['Processor', cpu.model === '' ? 'unknown' : cpu.model],
            ['Cores', `${plural(cpu.physicalCores, 'physical core')}, ${plural(cpu.threads, 'thread')}`],
            ['A run uses', `${plural(cpu.defaultThreads, 'thread')} unless it says otherwise`],
            ...(load === null
              ? []
              : [
                  ['Busy now', formatShare(load.cpuShare)] as const,
                  [
                    'Memory',
                    `${formatBytes(load.memory.usedBytes)} of ${formatBytes(load.memory.totalBytes)} in use`,
                  ] as const,
                  ...(load.memory.training.length === 0
                    ? []
                    : [['Training takes', memoryWords(totalMemory(load.memory.training))] as const]),
                ]),
            ['System', platform],
          ]}
        />
      </Section>
      <Section
        title="Devices"
        about="A run computes on the fastest device that passed its check here, for models of its size, unless its settings name one: New run, Method, All settings, Device."
      >
        <DeviceList devices={devices} />
      </Section>
      <CudaLibrary />
      <Section
        title="What runs where"
        about="In a run on the CPU and in one on a GPU; nothing leaves this machine."
      >
        <WhatRunsWhere />
      </Section>
    </>
  )
}

const places: readonly (readonly [string, string, string])[] = [
  ['Generating completions', 'The run’s device', 'ONNX Runtime; int8 rollouts have rounded weights'],
  ['Choosing tokens', 'CPU', 'Drawn from the probabilities with the run’s seed'],
  [
    'Learning: forward and backward',
    'The run’s device',
    'Layer by layer on the CPU, in whole programs on a GPU; operators without a kernel there run on the CPU',
  ],
  ['Optimizer', 'CPU', 'AdamW on the adapter’s parameters, in f32'],
  [
    'Reward and environment code',
    'CPU, a process of its own',
    'No files, no network, limits on time and memory',
  ],
  ['History', 'Disk of this machine', 'One database and one folder per run'],
]

const WhatRunsWhere = () => (
  <table className="w-full">
    <thead>
      <tr className="border-b border-line text-left text-sm text-muted">
        <th className="py-1 pr-4 font-medium">Part</th>
        <th className="py-1 pr-4 font-medium">Where</th>
        <th className="py-1 font-medium">How</th>
      </tr>
    </thead>
    <tbody>
      {places.map(([part, where, how]) => (
        <tr key={part} className="border-b border-line align-top last:border-b-0">
          <th scope="row" className="py-1.5 pr-4 text-left font-normal">
            {part}
          </th>
          <td className="py-1.5 pr-4 text-muted">{where}</td>
          <td className="py-1.5 text-muted text-pretty">{how}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

const totalMemory = (runs: Load['memory']['training']) => ({
  privateBytes: runs.reduce((sum, { privateBytes }) => sum + privateBytes, 0),
  mappedBytes: runs.reduce((sum, { mappedBytes }) => sum + mappedBytes, 0),
})

/** Lists every kind of device with its state; usable ones come first. */
function DeviceList({ devices }: { devices: readonly DeviceReport[] }) {
  const checks = useDeviceChecks()
  return (
    <ul aria-label="Devices" className="divide-y divide-line rounded border border-line">
      {devices
        .toSorted((a, b) => Number(b.available) - Number(a.available))
        .map((device) => (
          <li key={device.kind} aria-label={deviceTitles[device.kind]}>
            {device.available ? (
              <AvailableDevice kind={device.kind} check={checks?.[device.kind] ?? null} />
            ) : (
              <MissingDevice device={device} />
            )}
          </li>
        ))}
    </ul>
  )
}

interface AvailableProps {
  readonly kind: DeviceReport['kind']
  /** Null if not checked with the current driver and runtime. */
  readonly check: DeviceCheck | null
}

function AvailableDevice({ kind, check }: AvailableProps) {
  const { running, canStart, error, start } = useDeviceCheck(kind)
  const words = check === null ? 'Check' : 'Check again'
  return (
    <div className="grid gap-1 px-3 py-2">
      <div className="flex min-h-7 items-center gap-3">
        <CheckIcon kind={kind} check={check} />
        <span className="grow font-medium">{deviceTitles[kind]}</span>
        <CheckBadge kind={kind} check={check} />
        {running === null && (
          <Button small disabled={!canStart} aria-label={`${words}: ${deviceTitles[kind]}`} onClick={start}>
            {words}
          </Button>
        )}
      </div>
      <div className="grid gap-1 pl-7 text-sm text-muted">
        {running === null ? (
          <CheckWords kind={kind} check={check} />
        ) : (
          <TaskProgress
            progress={running.progress ?? { phase: 'Starting', done: 0, total: null, unit: 'checks' }}
            onCancel={running.cancel}
          />
        )}
        {running === null && error !== null && <ErrorNote error={error} />}
        <Remarks kind={kind} />
      </div>
    </div>
  )
}

const Remarks = ({ kind }: Pick<AvailableProps, 'kind'>) =>
  deviceRemarks(kind).map((remark) => (
    <p key={remark} className="text-pretty">
      {remark}
    </p>
  ))

function CheckIcon({ kind, check }: AvailableProps) {
  if (check === null && kind !== 'cpu') {
    return <Circle size={16} aria-hidden className="shrink-0 text-muted" />
  }
  return check === null || isSound(check) ? (
    <CircleCheck size={16} aria-hidden className="shrink-0 text-good" />
  ) : (
    <TriangleAlert size={16} aria-hidden className="shrink-0 text-bad" />
  )
}

function CheckBadge({ kind, check }: AvailableProps) {
  if (check === null) return <Badge tone={kind === 'cpu' ? 'good' : 'plain'}>{unchecked(kind)}</Badge>
  return isSound(check) ? <Badge tone="good">Passed</Badge> : <Badge tone="bad">Not used</Badge>
}

const unchecked = (kind: DeviceReport['kind']): string => (kind === 'cpu' ? 'Available' : 'Not checked')

function CheckWords({ kind, check }: AvailableProps) {
  const isCpu = kind === 'cpu'
  if (check === null) {
    return (
      <p className="text-pretty">
        {isCpu
          ? 'Always available. The check runs the self-test on it.'
          : 'The check runs the self-test on it and measures how fast it is, in a minute or so. Until it has passed, auto does not choose it.'}
      </p>
    )
  }
  const made = `on ${formatDate(check.at)} with ${check.with}`
  if (check.problem !== null) {
    return (
      <Fault>
        The check did not finish {made}. {check.problem} Runs with “auto” do not use it; update the graphics
        driver and check again.
      </Fault>
    )
  }
  const [first] = check.failures
  if (first !== undefined) {
    return (
      <Fault>
        {plural(check.failures.length, 'check')} of {String(check.checks)} failed {made}. The first is{' '}
        {first.name}, with{' '}
        {first.measured === null ? 'no number' : `an error of ${formatNumber(first.measured)}`} where{' '}
        {formatNumber(first.limit)} is allowed. Nothing is trained there; update the{' '}
        {isCpu ? 'installation' : 'graphics driver'} and check again.
      </Fault>
    )
  }
  return (
    <>
      <p className="text-pretty">
        All {plural(check.checks, 'check')} of the self-test passed {made}.
      </p>
      {check.speeds.length > 0 && <p className="text-pretty">{speedWords(check.speeds)}</p>}
      {check.memoryBytes !== null && <p>{formatBytes(check.memoryBytes)} of memory.</p>}
    </>
  )
}

const Fault = ({ children }: { children: ReactNode }) => <p className="text-pretty text-text">{children}</p>

function speedWords(speeds: readonly DeviceSpeed[]): string {
  const parts = speeds.map(({ parameters, ratio }) => {
    const fast = ratio === null ? 'far slower' : `${formatNumber(ratio, 2)} times as fast`
    return `${fast} on a model of ${formatNumber(parameters / 1e6, 2)} million parameters`
  })
  return `Compared with the CPU: ${parts.join(', ')}.`
}

/** Explains on request what a device lacks: most machines lack most of them. */
const MissingDevice = ({ device }: { device: Extract<DeviceReport, { available: false }> }) => (
  <details className="group">
    <summary className="flex min-h-9 list-none items-center gap-3 px-3 -outline-offset-2 hover:bg-panel">
      <CircleOff size={16} aria-hidden className="shrink-0 text-faint" />
      <span className="grow text-muted">{deviceTitles[device.kind]}</span>
      <Badge>Not available</Badge>
      <span className="inline-flex items-center gap-0.5 text-sm text-muted">
        Why
        <ChevronRight size={14} aria-hidden className="group-open:rotate-90" />
      </span>
    </summary>
    <div className="grid gap-1 px-3 pb-3 pl-10 text-sm text-muted">
      <p className="text-pretty">
        {device.reason} {device.hint}
      </p>
      <Remarks kind={device.kind} />
    </div>
  </details>
)
