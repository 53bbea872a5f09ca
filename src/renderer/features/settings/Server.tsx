import { useState } from 'react'
import type { ServingStatus } from '#shared/api/serving.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { Copied, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Section } from './Section.tsx'
import { SelectField } from '#renderer/kit/choices.tsx'
import { NumberField } from '#renderer/kit/inputs.tsx'

const highestPort = 65_535

/** Serves a model to other programs on this machine. */
export function ServerSection() {
  const { data: status } = useAnswer('serving.status', undefined, { staleMs: 0 })
  if (status === undefined) return <Loading />
  return (
    <>
      <Section
        title="Models for other programs"
        about="Programs on this machine that speak the API of OpenAI can use a model and every adapter trained on it, during training too. A run’s id stands for its latest checkpoint, RUN@STEP for one of them. Other machines cannot connect, and each request needs the key."
      >
        {status.state === 'on' ? <RunningServer status={status} /> : <StoppedServer status={status} />}
      </Section>
      {status.state !== 'on' && status.state !== 'starting' && <KeySection />}
    </>
  )
}

function RunningServer({ status }: { readonly status: Extract<ServingStatus, { readonly state: 'on' }> }) {
  const { model, address, key, contextLength, active, answered, tokens } = status
  const { run, isRunning } = useCommand('serving.stop')
  return (
    <div className="grid gap-3">
      <KeyValue
        entries={[
          ['Base model', `${model}, ${formatNumber(contextLength)} tokens of context`],
          ['Base URL', <Copied text={address} label="Copy the base URL" />],
          ['API key', <Copied text={key} label="Copy the API key" />],
          [
            'Requests',
            `${formatNumber(active)} now, ${formatNumber(answered)} answered with ${plural(tokens, 'token')}`,
          ],
        ]}
      />
      <div>
        <Button disabled={isRunning} onClick={() => void run(undefined)}>
          Stop the server
        </Button>
      </div>
    </div>
  )
}

function StoppedServer({ status }: { readonly status: Exclude<ServingStatus, { readonly state: 'on' }> }) {
  const { data: models = [] } = useAnswer('models.list', undefined)
  const [chosen, setChosen] = useState<string | null>(null)
  const [port, setPort] = useSetting('serving.port', 8430)
  // Its error is in the status too.
  const { run } = useCommand('serving.start', { quiet: true })
  const usable = models.filter((each) => !('problem' in each))
  const model = chosen ?? usable[0]?.name
  const isStarting = status.state === 'starting'
  const isValidPort = Number.isInteger(port) && port >= 0 && port <= highestPort
  return (
    <div className="grid gap-3">
      {status.state === 'failed' && <ErrorNote error={status.error} />}
      <div className="flex flex-wrap items-start gap-3">
        <SelectField
          label="Base model"
          className="w-64"
          value={model ?? ''}
          disabled={isStarting}
          options={usable.map(({ name }) => ({ value: name, label: name }))}
          onChange={setChosen}
        />
        <NumberField
          label="Port"
          className="w-40"
          note="0: any free one."
          error={isValidPort ? undefined : `A whole number from 0 to ${String(highestPort)}.`}
          value={port}
          disabled={isStarting}
          onChange={(next) => setPort(next ?? 0)}
        />
      </div>
      <div>
        <Button
          variant="primary"
          disabled={isStarting || !isValidPort || model === undefined}
          onClick={() => model !== undefined && void run({ model, port })}
        >
          {isStarting ? `Opening ${status.model}` : 'Start the server'}
        </Button>
      </div>
    </div>
  )
}

function KeySection() {
  const [isRenewed, setRenewed] = useState(false)
  const { run, isRunning } = useCommand('serving.renewKey', { onDone: () => setRenewed(true) })
  return (
    <Section
      title="API key"
      about="The key stays the same, so that programs have to be told it only once, and so does the one of agents, which their run shows. Both are stored unencrypted in the data directory."
      actions={
        <Button disabled={isRunning} onClick={() => void run(undefined)}>
          Make a new key
        </Button>
      }
    >
      <p role="status">{isRenewed ? 'Programs and agents that have the old keys are locked out.' : ''}</p>
    </Section>
  )
}
