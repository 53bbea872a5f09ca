import { useState } from 'react'
import { useAnswer, useTask, type Answer } from '#renderer/client/api.tsx'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { deviceTitles, type DeviceKind } from '#shared/device.ts'
import { PassBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { ErrorNote, Progress } from '#renderer/kit/states.tsx'
import { deviceWords } from '#renderer/parts/runFacts.ts'
import { Section } from './Section.tsx'

type Finding = Answer<'system.selftest'>['finding']

/** Title of a group of findings by the common start of their names, up to a slash. */
const partTitle = (part: string): string => {
  if (part === 'operators') return 'Gradients of operators'
  return part === 'probes' || part === 'probe' ? 'Learning a simple task' : `A whole model: ${part}`
}

/** Self-test of the numerics of this installation, in words. */
export function SelfTestSection() {
  const { start, cancel, items, state, error } = useTask('system.selftest')
  const { data: info } = useAnswer('system.info', undefined)
  const usable = info?.devices.filter(({ available }) => available) ?? []
  const [isFull, setFull] = useState(false)
  const [device, setDevice] = useState<DeviceKind>('cpu')
  const findings = items.map(({ finding }) => finding)
  const failed = findings.filter(({ passed }) => !passed)
  const begin = (full: boolean) => {
    setFull(full)
    start({ full, device })
  }
  return (
    <Section
      title="Self-test"
      about="Compares gradients with finite differences and the sampler with the learner, on one of the devices of this machine. The full one adds every architecture and lets every algorithm learn a simple task, which takes some minutes."
      actions={
        state === 'running' ? (
          <Button onClick={cancel}>Cancel</Button>
        ) : (
          <StartButtons {...{ device, usable }} onDevice={setDevice} onStart={begin} />
        )
      }
    >
      {state === 'running' && (
        <div className="mb-3 flex items-center gap-3">
          <span role="status" className="text-muted">
            {isFull ? 'Full test' : 'Quick test'} on {deviceWords(device)}: {plural(findings.length, 'check')}{' '}
            done
          </span>
          <Progress label="Self-test" value={null} className="grow" />
        </div>
      )}
      {error !== null && <ErrorNote error={error} className="mb-3" />}
      {state !== 'running' && findings.length > 0 && (
        <p role="status" className="mb-3 flex items-center gap-2">
          <PassBadge passed={failed.length === 0 && state === 'done'} />
          {summary({
            checks: findings.length,
            failed: failed.length,
            device: deviceWords(device),
            isWhole: state === 'done',
          })}
        </p>
      )}
      {failed.length > 0 && <Findings title="Failed" findings={failed} />}
      {partsOf(findings).map(([part, own]) => (
        <Findings key={part} title={partTitle(part)} findings={own} />
      ))}
    </Section>
  )
}

interface StartProps {
  readonly device: DeviceKind
  readonly usable: readonly { readonly kind: DeviceKind }[]
  readonly onDevice: (device: DeviceKind) => void
  readonly onStart: (isFull: boolean) => void
}

const StartButtons = ({ device, usable, onDevice, onStart }: StartProps) => (
  <div className="flex shrink-0 gap-2 narrow:shrink narrow:flex-wrap">
    {usable.length > 1 && (
      <Select
        aria-label="Device"
        value={device}
        options={usable.map(({ kind }) => ({ value: kind, label: deviceTitles[kind] }))}
        onChange={onDevice}
      />
    )}
    <Button onClick={() => onStart(true)}>Run the full test</Button>
    <Button variant="primary" onClick={() => onStart(false)}>
      Run the quick test
    </Button>
  </div>
)

interface Outcome {
  readonly checks: number
  readonly failed: number
  readonly isWhole: boolean
  readonly device: string
}

function summary({ checks, failed, isWhole, device }: Outcome): string {
  const done = `${plural(checks, 'check')} made`
  if (!isWhole) return `Stopped early: ${done}, ${plural(failed, 'failure')} so far.`
  return failed === 0
    ? `All ${plural(checks, 'check')} passed: what ${device} computes can be trusted.`
    : `${done}, ${plural(failed, 'failure')}. Runs on ${device} may learn wrongly.`
}

function partsOf(findings: readonly Finding[]): [string, Finding[]][] {
  const parts = new Map<string, Finding[]>()
  for (const finding of findings) {
    const part = finding.name.split('/')[0] ?? finding.name
    parts.set(part, [...(parts.get(part) ?? []), finding])
  }
  return [...parts]
}

function Findings({ title, findings }: { title: string; findings: readonly Finding[] }) {
  const [first] = findings
  // A sentence common to all is shown once.
  const common = findings.length > 1 && findings.every(({ sentence }) => sentence === first?.sentence)
  return (
    <div className="mb-5">
      <h3 className="mb-1 flex flex-wrap gap-x-2 font-medium">
        {title}
        <span className="font-normal text-faint tabular-nums">{findings.length}</span>
        {common && <span className="w-full text-sm font-normal text-muted">{first?.sentence}</span>}
      </h3>
      <ul
        className={classes(
          'rounded border border-line',
          common ? 'grid grid-cols-2 narrow:grid-cols-1' : 'divide-y divide-line',
        )}
      >
        {findings.map(({ name, passed, measured, limit, sentence }) => (
          <li
            key={name}
            className="grid min-w-0 grid-cols-[72px_minmax(0,1fr)_max-content] items-center gap-3 px-3 py-1.5"
          >
            <PassBadge passed={passed} />
            <span className="min-w-0">
              <span className="block truncate" title={name}>
                {name.split('/').slice(1).join('/') || name}
              </span>
              {!common && <span className="block text-sm text-muted text-pretty">{sentence}</span>}
            </span>
            <span className="font-mono text-xs text-faint tabular-nums" title="Measured, and the limit">
              {measured === null ? 'no number' : formatNumber(measured)} / {formatNumber(limit)}
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
