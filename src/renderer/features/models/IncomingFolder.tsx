import { useArrivals, type ArrivingFolder } from '#renderer/client/adding.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useDiscardFolder } from './useModels.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { CopyButton, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { ImportAdapter } from './ImportAdapter.tsx'
import { ImportModel } from './ImportModel.tsx'

type Source = NonNullable<ArrivingFolder['source']>

/** A folder somebody dropped or chose: what is in it, before it is copied. */
export function IncomingFolder({ folder: { name, kind, source } }: { folder: ArrivingFolder }) {
  const path = source !== null && 'path' in source ? source.path : null
  return (
    <div className="min-h-0 grow overflow-auto px-6 py-4">
      <div className="max-w-180">
        <h2 className="text-xl font-semibold break-words">{name}</h2>
        {path !== null && (
          <p className="flex items-center gap-1 text-muted">
            <span className="min-w-0 truncate font-mono text-sm">{path}</span>
            <CopyButton text={path} label="Copy path" />
          </p>
        )}
        <div className="mt-4">
          {source === null ? <Sending /> : <Looked name={name} kind={kind} source={source} />}
        </div>
      </div>
    </div>
  )
}

const Sending = () => (
  <div className="flex items-center gap-3">
    <Loading label="Sending the files to the host" />
    <Button onClick={() => useArrivals.setState({ model: null })}>Cancel</Button>
  </div>
)

interface LookedProps {
  readonly name: string
  readonly kind: ArrivingFolder['kind']
  readonly source: Source
}

/** A chosen folder says only now whether it is an adapter. */
function Looked({ name, kind, source }: LookedProps) {
  const path = 'path' in source ? source.path : undefined
  const inside = useAnswer('system.browse', path === undefined ? {} : { path }, {
    enabled: path !== undefined,
  })
  const isAdapter =
    kind === 'adapter' || inside.data?.entries.some((entry) => entry.name === 'adapter_config.json') === true
  const discard = useDiscardFolder()
  const { data: found, error } = useAnswer('models.inspect', source, { enabled: !isAdapter })
  const onDiscard = () => discard(source)
  if (isAdapter) return <ImportAdapter name={name} source={source} onDiscard={onDiscard} />
  if (error !== null) return <ErrorNote error={error} action={<Button onClick={onDiscard}>Discard</Button>} />
  if (found === undefined) return <Loading label="Reading the folder" />
  if (!('problem' in found)) {
    return <ImportModel name={name} source={source} info={found} onDiscard={onDiscard} />
  }
  return (
    <ErrorNote
      error={{
        message: found.problem,
        hint: 'Nothing was changed. A model is a folder with config.json, tokenizer.json and safetensors.',
      }}
      action={<Button onClick={onDiscard}>Discard</Button>}
    />
  )
}
