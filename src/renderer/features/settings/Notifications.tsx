import { useState } from 'react'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { shell } from '#renderer/client/connection.ts'
import { useNotices } from '#renderer/client/notices.ts'
import { toast } from '#renderer/client/toasts.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { Section } from './Section.tsx'

/** Who is told when a run has ended or has a problem: this browser, and an address. */
export function NotificationsSection() {
  return (
    <Section title="Notifications" about="When a run is done, has failed or has a problem.">
      <div className="grid max-w-150 gap-3">
        {shell === null ? <InBrowser /> : <p>The system shows them while the window is not in front.</p>}
        <Webhook />
      </div>
    </Section>
  )
}

function InBrowser() {
  const { permission, ask } = useNotices()
  const words = {
    granted: 'This browser shows them while you look elsewhere. A tab of Turnwise has to be open.',
    default: 'This browser can show them while you look elsewhere.',
    denied: 'This browser was told not to show them. Allow notifications for this address in its settings.',
  }
  return (
    <div className="flex items-center gap-3">
      <p className="grow">{words[permission]}</p>
      {permission === 'default' && <Button onClick={ask}>Show notifications</Button>}
    </div>
  )
}

function Webhook() {
  const [address, setAddress] = useState('')
  const { data, refetch } = useAnswer('system.webhook', undefined)
  const save = useCommand('system.setWebhook', {
    onDone() {
      setAddress('')
      refetch()
    },
  })
  const test = useCommand('system.testWebhook', { onDone: () => toast({ title: 'The webhook was told.' }) })
  const origin = data?.origin ?? null
  return (
    <Field
      label="Webhook"
      note="An address of Slack, Discord, Mattermost or your own. It is sent the name of the run, its figures and its problem; no data, no completions, no keys. Saving it allows this address."
    >
      {(ids) => (
        <span className="flex flex-wrap gap-2">
          <TextInput
            {...ids}
            mono
            value={address}
            placeholder={origin === null ? 'https://' : `${origin}/…`}
            onChange={setAddress}
            className="min-w-40 grow basis-0"
          />
          <Button disabled={address === '' || save.isRunning} onClick={() => void save.run({ address })}>
            Allow and save
          </Button>
          {origin !== null && (
            <>
              <Button disabled={test.isRunning} onClick={() => void test.run(undefined)}>
                Send a test
              </Button>
              <Button disabled={save.isRunning} onClick={() => void save.run({ address: null })}>
                Remove
              </Button>
            </>
          )}
        </span>
      )}
    </Field>
  )
}
