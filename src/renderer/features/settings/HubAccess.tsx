import { useState } from 'react'
import { defaultHub } from '#shared/hub.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput, TextField } from '#renderer/kit/inputs.tsx'
import { Section } from './Section.tsx'

/** Server for model downloads, and access to it. */
export function HubAccess() {
  const [endpoint, setEndpoint] = useSetting('hub.endpoint', '')
  const [token, setToken] = useSetting('hub.token', '')
  // Shown until the page is left to whoever typed it, and never sent back.
  const [typed, setTyped] = useState('')
  const change = (text: string) => {
    setTyped(text)
    setToken(text)
  }
  return (
    <Section title="Hub of models">
      <div className="grid max-w-150 gap-3">
        <TextField
          label="Address"
          note={`Empty: ${defaultHub}. A token is forgotten when the address changes.`}
          mono
          value={endpoint}
          placeholder={defaultHub}
          onChange={setEndpoint}
        />
        <Field
          label="Access token"
          note="Only for models whose owners require it. It is stored unencrypted in the data directory."
        >
          {(ids) => (
            <span className="flex gap-2">
              <TextInput
                {...ids}
                mono
                type="password"
                value={typed}
                placeholder={token === '' ? '' : 'A token is stored'}
                onChange={change}
              />
              {token !== '' && <Button onClick={() => change('')}>Forget</Button>}
            </span>
          )}
        </Field>
      </div>
    </Section>
  )
}
