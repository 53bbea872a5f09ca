import { CircleCheck, FolderOpen, TriangleAlert } from 'lucide-react'
import { type Answer } from '#renderer/client/api.tsx'
import { formatBytes, formatNumber, plural } from '#renderer/client/format.ts'
import { Panel } from '#renderer/kit/Page.tsx'
import { CopyButton } from '#renderer/kit/states.tsx'
import { shell } from '#renderer/client/connection.ts'
import { PassBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { formatWords, placeIn } from '#renderer/parts/exportPlan.ts'
import { PushToHub } from './PushToHub.tsx'

type Report = Extract<Answer<'checkpoints.export'>, { result: unknown }>['result']

/** Reports the written files, and the result of reading them back. */
export function ExportReport({ report, title }: { report: Report; title: string }) {
  const { format, directory, sizeBytes, files, parity, openIn } = report
  const isSame = parity.every(({ passed }) => passed)
  return (
    <div className="flex max-w-200 flex-col gap-4" role="status">
      <header className="flex items-start gap-3">
        {isSame ? (
          <CircleCheck size={20} aria-hidden className="mt-0.5 shrink-0 text-good" />
        ) : (
          <TriangleAlert size={20} aria-hidden className="mt-0.5 shrink-0 text-bad" />
        )}
        <div className="min-w-0 grow">
          <h2 className="text-lg font-semibold">
            {isSame ? 'Exported and checked' : 'Exported, but it differs from what was trained'}
          </h2>
          <p className="text-muted">
            {title} · {formatWords[format].title} · {plural(files.length, 'file')}, {formatBytes(sizeBytes)}
          </p>
          <p className="flex items-start gap-1">
            <span className="min-w-0 pt-0.5 font-mono text-sm break-all">{directory}</span>
            <CopyButton text={directory} label="Copy path" />
          </p>
        </div>
        {shell !== null && (
          <Button icon={FolderOpen} onClick={() => void shell?.reveal(directory)}>
            Show in folder
          </Button>
        )}
      </header>
      {isSame && openIn.length > 0 && <OpenIn commands={openIn} />}
      <ReadBack parity={parity} />
      <WrittenFiles {...{ directory, files }} />
      {isSame && <PushToHub directory={directory} />}
    </div>
  )
}

/** Lists what was compared with the trained policy after writing. */
const ReadBack = ({ parity }: Pick<Report, 'parity'>) => (
  <Panel title="Read back" isFlush>
    <table className="w-full text-left">
      <thead className="text-sm text-muted">
        <tr className="border-b border-line">
          <th className="px-3 py-1.5 font-medium">What was compared</th>
          <th className="px-3 py-1.5 text-right font-medium">Difference</th>
          <th className="px-3 py-1.5 text-right font-medium">Allowed</th>
          <th className="px-3 py-1.5 font-medium">Result</th>
        </tr>
      </thead>
      <tbody>
        {parity.map(({ sentence, measured, limit, passed }) => (
          <tr key={sentence} className="border-b border-line last:border-b-0">
            <td className="px-3 py-2 text-pretty">{sentence}</td>
            <td className="px-3 py-2 text-right font-mono text-sm">{formatNumber(measured)}</td>
            <td className="px-3 py-2 text-right font-mono text-sm">{formatNumber(limit)}</td>
            <td className="px-3 py-2">
              <PassBadge passed={passed} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Panel>
)

const WrittenFiles = ({ directory, files }: Pick<Report, 'directory' | 'files'>) => (
  <Panel title="Files" isFlush>
    <table className="w-full text-left">
      <thead className="sr-only">
        <tr>
          <th>File</th>
          <th>Size</th>
        </tr>
      </thead>
      <tbody>
        {files.map(({ path, sizeBytes: size }) => (
          <tr key={path} className="border-b border-line last:border-b-0">
            <td className="px-3 py-1.5 font-mono text-sm break-all">{placeIn(directory, path)}</td>
            <td className="px-3 py-1.5 text-right font-mono text-sm whitespace-nowrap">
              {formatBytes(size)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Panel>
)

const OpenIn = ({ commands }: { commands: Report['openIn'] }) => (
  <Panel title="Open in" isFlush>
    <ul aria-label="Commands for other programs">
      {commands.map(({ tool, command }) => (
        <li
          key={tool}
          className="flex items-start gap-3 border-b border-line px-3 py-1.5 last:border-b-0 phone:flex-wrap"
        >
          <span className="w-24 shrink-0 pt-0.5 text-muted">{tool}</span>
          <code className="min-w-0 grow pt-0.5 font-mono text-sm break-all whitespace-pre-wrap">
            {command}
          </code>
          <CopyButton text={command} label={`Copy the command for ${tool}`} />
        </li>
      ))}
    </ul>
  </Panel>
)
