import { ShieldCheck } from 'lucide-react'
import { plural } from '#renderer/format.ts'
import { useLoad } from '#renderer/hooks/live.ts'
import { useSetting } from '#renderer/hooks/settings.ts'
import { Field } from '../base/Field.tsx'
import { TextInput } from '../base/inputs.tsx'
import { Section } from './Section.tsx'

/** The counter of the foot of the window, explained. */
export function PrivacySection() {
  const load = useLoad()
  const count = load?.disk === undefined ? null : requestsOf(load)
  return (
    <>
      <Section title="Requests to other machines">
        <div className="flex items-center gap-4 rounded border border-line p-4">
          <ShieldCheck size={28} aria-hidden className={count === 0 ? 'text-good' : 'text-muted'} />
          <div>
            <p className="text-xl font-semibold tabular-nums">
              {count === null ? '–' : plural(count, 'request')}
            </p>
            <p className="text-muted">
              since Turnwise was installed. The same number stands in the foot of the window.
            </p>
          </div>
        </div>
      </Section>
      <Section title="What would make one">
        <ul className="grid list-disc gap-1 pl-5">
          <li>
            An environment that searches a server which is not on this machine: the address is one you give
            it. Each request is counted.
          </li>
          <li>A model that you fetch from a hub by its address. Each request is counted.</li>
          <li>
            Nothing else. There is no account, no statistics, no check for updates, no download in the
            background.
          </li>
        </ul>
      </Section>
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
            Models and adapters are read from safetensors; nothing that could run code is ever unpacked.
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
        <Field label="Address" note="Empty: https://huggingface.co.">
          {(ids) => (
            <TextInput
              {...ids}
              mono
              value={endpoint}
              placeholder="https://huggingface.co"
              onChange={setEndpoint}
            />
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

const requestsOf = (load: object): number =>
  'outboundRequests' in load && typeof load.outboundRequests === 'number' ? load.outboundRequests : 0
