import { useState } from 'react'
import { giveKey } from '#renderer/client/connection.ts'
import { codeOf, hintOf } from '#renderer/client/failures.ts'
import { useConnection } from '#renderer/client/live.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { Page } from '#renderer/kit/Page.tsx'

/** In place of every screen while the host turns this window away: why, and the way in. */
export function ConnectionRefused() {
  const problem = useConnection((connection) => connection.problem)
  if (problem === null) return null
  return (
    <Page title="Not connected">
      <div className="flex max-w-140 flex-col gap-3" role="alert">
        <p className="text-lg font-medium text-pretty">{problem.message}</p>
        <p className="text-muted text-pretty">{hintOf(problem)}</p>
        {codeOf(problem) === 'api/refused' ? (
          <KeyField />
        ) : (
          <Button className="self-start" onClick={() => location.reload()}>
            Reload
          </Button>
        )}
      </div>
    </Page>
  )
}

function KeyField() {
  const [text, setText] = useState('')
  const [isWrong, setWrong] = useState(false)
  return (
    <form
      className="flex items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        setWrong(!giveKey(text))
      }}
    >
      <Field
        label="Address or key"
        className="grow"
        {...(isWrong ? { error: 'There is no key in this. It follows #token= in the address.' } : {})}
      >
        {(ids) => (
          <TextInput
            mono
            {...ids}
            value={text}
            onChange={setText}
            placeholder="http://127.0.0.1:…/#token=…"
          />
        )}
      </Field>
      <Button variant="primary" type="submit">
        Connect
      </Button>
    </form>
  )
}
