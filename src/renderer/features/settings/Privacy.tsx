import { defaultHub } from '#shared/hub.ts'
import { ShieldCheck } from 'lucide-react'
import { formatTime, plural } from '#renderer/client/format.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { useLoad, type Load } from '#renderer/client/live.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { networkWords } from '#renderer/client/words.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { Section } from './Section.tsx'

/** The figure in the foot of the window, explained. */
export function PrivacySection() {
  const load = useLoad()
  return (
    <>
      {load?.connections !== undefined && <Network {...load} />}
      <Section title="What would make one">
        <ul className="grid list-disc gap-1 pl-5">
          <li>
            An environment that searches a server which is not on this machine: the address is one you give
            it. Each request is counted.
          </li>
          <li>A model that you fetch from a hub by its address. Each request is counted.</li>
          <li>The CUDA library, where you install it under Devices. Each request is counted.</li>
          <li>
            Nothing else. There is no account, no statistics, no check for updates, no download in the
            background; the telemetry that ONNX Runtime comes with is turned off.
          </li>
        </ul>
      </Section>
      <TelemetryFiles />
      <HubAccess />
      <Section title="How it is kept so">
        <ul className="grid list-disc gap-1 pl-5">
          <li>This window may only load what came with the program and talk to the host on this machine.</li>
          <li>
            Without the desktop app the host listens on this machine alone, and only for those who have its
            key.
          </li>
          <li>
            Reward and environment code runs in a sandbox without files, network or clock, with limits on time
            and memory.
          </li>
          <li>
            Models and adapters are read from safetensors; nothing that could run code is ever unpacked, but
            for the CUDA library, whose digests came with Turnwise.
          </li>
        </ul>
      </Section>
    </>
  )
}

/** Where models are fetched from. */
function HubAccess() {
  const [endpoint, setEndpoint] = useSetting('hub.endpoint', '')
  const [token, setToken] = useSetting('hub.token', '')
  return (
    <Section title="Hub of models">
      <div className="grid max-w-150 gap-3">
        <Field label="Address" note={`Empty: ${defaultHub}.`}>
          {(ids) => (
            <TextInput {...ids} mono value={endpoint} placeholder={defaultHub} onChange={setEndpoint} />
          )}
        </Field>
        <Field
          label="Access token"
          note="Only for models whose owners ask for it. It is kept readable in this installation’s data directory."
        >
          {(ids) => <TextInput {...ids} mono type="password" value={token} onChange={setToken} />}
        </Field>
      </div>
    </Section>
  )
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
              {plural(outboundRequests, 'request')} of yours to a hub or a server since Turnwise was
              installed.
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

/** Older versions let ONNX Runtime report its use to its maker. */
function TelemetryFiles() {
  const { data: files = [], refetch } = useAnswer('system.telemetryFiles', undefined)
  const { run, isRunning } = useCommand('system.removeTelemetryFiles', { onDone: refetch })
  if (files.length === 0) return null
  return (
    <Section
      title="Left by telemetry"
      about="ONNX Runtime, which computes here, reported its use to Microsoft from earlier versions of Turnwise and from other programs. Turnwise now turns that off. These files are left; nothing needs them."
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
