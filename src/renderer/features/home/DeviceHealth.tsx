import { deviceTitles, type DeviceCheck, type DeviceKind } from '#shared/device.ts'
import { formatBytes, formatShare } from '#renderer/client/format.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { isSound, useDeviceChecks } from '#renderer/client/devices.ts'
import { useLoad } from '#renderer/client/live.ts'
import { link } from '#renderer/client/route.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Panel } from '#renderer/kit/Panel.tsx'
import { Progress } from '#renderer/kit/states.tsx'

/** How the machine is doing, and what of it can be computed with. */
export function DeviceHealth() {
  const load = useLoad()
  const { data: info } = useAnswer('system.info', undefined)
  const checks = useDeviceChecks()
  return (
    <Panel
      title="This machine"
      actions={
        <a href={link('/settings/devices')} className="px-2 text-sm text-accent-ink hover:underline">
          What runs where
        </a>
      }
    >
      <p className="truncate" title={info?.cpu.model}>
        {info?.cpu.model ?? ' '}
      </p>
      <div className="mt-2 flex flex-wrap gap-1">
        {info?.devices
          .filter(({ available }) => available)
          .map(({ kind }) => (
            <DeviceBadge key={kind} kind={kind} check={checks?.[kind] ?? null} />
          ))}
      </div>
      {load !== null && (
        <dl className="mt-3 grid grid-cols-[64px_minmax(0,1fr)_max-content] items-center gap-x-3 gap-y-1.5 text-sm tabular-nums">
          <Meter name="CPU" share={load.cpuShare} value={formatShare(load.cpuShare)} />
          <Meter
            name="Memory"
            share={load.memory.usedBytes / load.memory.totalBytes}
            value={`${formatBytes(load.memory.usedBytes)} of ${formatBytes(load.memory.totalBytes)}`}
          />
          <dt className="text-muted">Disk</dt>
          <dd className="col-span-2 text-right">
            {formatBytes(load.disk.turnwiseBytes)} used · {formatBytes(load.disk.freeBytes)} free
          </dd>
        </dl>
      )}
    </Panel>
  )
}

/** That it can be started says little: it has to compute rightly. `check`: null where nobody has looked. */
function DeviceBadge({ kind, check }: { kind: DeviceKind; check: DeviceCheck | null }) {
  const title = deviceTitles[kind]
  if (check === null) return <Badge tone={kind === 'cpu' ? 'good' : 'plain'}>{unchecked(kind)}</Badge>
  return isSound(check) ? <Badge tone="good">{title} passed</Badge> : <Badge tone="bad">{title} failed</Badge>
}

const unchecked = (kind: DeviceKind): string =>
  kind === 'cpu' ? 'CPU ready' : `${deviceTitles[kind]} not checked`

const Meter = ({ name, share, value }: { name: string; share: number; value: string }) => (
  <>
    <dt className="text-muted">{name}</dt>
    <dd className="contents">
      <Progress label={name} value={share} />
      <span className="text-right">{value}</span>
    </dd>
  </>
)
