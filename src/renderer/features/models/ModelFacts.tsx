import { useState } from 'react'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { fitWords } from '#renderer/client/modelChoice.ts'
import { formatBytes, formatCount, formatDate } from '#renderer/client/format.ts'
import { parameterWords } from './hubWords.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { CopyButton } from '#renderer/kit/states.tsx'

export type ModelInfo = Answer<'models.info'>

interface ModelFactsProps {
  readonly info: ModelInfo
  /** True for listed models, whose digest the host can compute. */
  readonly isListed?: boolean
}

/** Card of a model. */
export function ModelFacts({ info, isListed = false }: ModelFactsProps) {
  return (
    <KeyValue
      entries={[
        ['Architecture', info.architecture],
        ['Parameters', <Exact key="parameters" short={parameterWords(info)} exact={info.parameters} />],
        ['Layers', formatCount(info.layers)],
        ['Hidden size', formatCount(info.hiddenSize)],
        ['Vocabulary', `${formatCount(info.vocabulary)} tokens`],
        ['Context', `${formatCount(info.contextLength)} tokens`],
        ['Weights', `${info.dtypes.join(', ')} · ${formatBytes(info.sizeBytes)}`],
        [
          'This machine’s memory',
          <span key="fits" className="inline-block first-letter:uppercase">
            {fitWords(info.fits)}
          </span>,
        ],
        ['Chat template', info.hasChatTemplate ? 'Yes' : 'None: prompts are plain text'],
        info.notes.length > 0 && isListed && ['Notes', info.notes.join(' ')],
        ['Licence', <LicenseFact key="license" license={info.license} />],
        info.hubId !== null && ['Hub id', info.hubId],
        isListed && ['Digest', <Digest key="digest" info={info} />],
        ['Folder', <Address key="folder" address={info.directory} label="Copy path" />],
      ]}
    />
  )
}

function LicenseFact({ license }: { license: ModelInfo['license'] }) {
  if (license === null) return <span className="text-faint">Not stated</span>
  const { name, link, acceptedAt } = license
  return (
    <span className="flex flex-col">
      <span>
        {name}
        {acceptedAt !== null && <span className="text-faint"> · accepted on {formatDate(acceptedAt)}</span>}
      </span>
      {link !== null && <Address address={link} label="Copy the address of the licence" />}
    </span>
  )
}

/** Copies an address, since the window opens no pages of other servers. */
export const Address = ({ address, label }: { address: string; label: string }) => (
  <span className="flex items-start gap-1">
    <span className="min-w-0 font-mono text-sm break-all">{address}</span>
    <CopyButton text={address} label={label} />
  </span>
)

/** Size above which a model is only read for its digest on request. */
const readAtOnceBytes = 500_000_000

/** Shows the digest, which tells whether two folders hold the same model; manifests of runs contain it. */
function Digest({ info }: { info: ModelInfo }) {
  const [isWanted, setWanted] = useState(info.sizeBytes <= readAtOnceBytes)
  const { data, error } = useAnswer('models.digest', { model: info.directory }, { enabled: isWanted })
  if (!isWanted) {
    return (
      <Button small onClick={() => setWanted(true)}>
        Read {formatBytes(info.sizeBytes)} to tell
      </Button>
    )
  }
  if (error !== null) return <span className="text-bad">{error.message}</span>
  if (data === undefined) return <span className="text-faint">Reading</span>
  return (
    <span className="flex items-start gap-1">
      <span className="min-w-0 truncate font-mono text-sm" title={data.sha256}>
        {data.sha256.slice(0, 16)}…
      </span>
      <CopyButton text={data.sha256} label="Copy digest" />
    </span>
  )
}

function Exact({ short, exact }: { short: string; exact: number }) {
  const whole = formatCount(exact)
  return short === whole ? (
    short
  ) : (
    <>
      {short} <span className="text-faint">({whole})</span>
    </>
  )
}
