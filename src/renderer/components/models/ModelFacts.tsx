import type { Answer } from '#renderer/hooks/api.tsx'
import { formatBytes, formatCount, formatShort } from '#renderer/format.ts'
import { KeyValue } from '../base/Panel.tsx'
import { CopyButton } from '../base/states.tsx'

export type ModelInfo = Answer<'models.info'>

/** The model's card. */
export function ModelFacts({ info }: { info: ModelInfo }) {
  return (
    <KeyValue
      entries={[
        ['Architecture', info.architecture],
        [
          'Parameters',
          <Exact key="parameters" short={formatShort(info.parameters)} exact={info.parameters} />,
        ],
        ['Layers', formatCount(info.layers)],
        ['Hidden size', formatCount(info.hiddenSize)],
        ['Vocabulary', `${formatCount(info.vocabulary)} tokens`],
        ['Context', `${formatCount(info.contextLength)} tokens`],
        ['Weights', `${info.dtypes.join(', ')} · ${formatBytes(info.sizeBytes)}`],
        ['Chat template', info.hasChatTemplate ? 'Yes' : 'None: prompts are plain text'],
        ['Licence', info.license ?? <span className="text-faint">Not stated</span>],
        [
          'Folder',
          <span key="folder" className="flex items-start gap-1">
            <span className="min-w-0 font-mono text-sm break-all">{info.directory}</span>
            <CopyButton text={info.directory} label="Copy path" />
          </span>,
        ],
      ]}
    />
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
