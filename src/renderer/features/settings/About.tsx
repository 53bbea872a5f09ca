import { useAnswer } from '#renderer/client/api.tsx'
import { shell } from '#renderer/client/connection.ts'
import { KeyValue } from '#renderer/kit/Panel.tsx'
import { CopyButton, Loading } from '#renderer/kit/states.tsx'
import { Section } from './Section.tsx'

/** Of others, in this program. */
const licences: readonly (readonly [string, string])[] = [
  [
    'ONNX Runtime, Node.js, better-sqlite3, QuickJS, React, Radix UI, CodeMirror, Recharts, TanStack, cmdk, Zustand, Tailwind CSS, hyparquet, Papa Parse, Jinja for JavaScript, ws, zod, Electron',
    'MIT',
  ],
  ['SQLite', 'public domain'],
  ['Tokenizers for JavaScript (Hugging Face), TypeScript', 'Apache 2.0'],
  ['Lucide icons', 'ISC'],
  ['Inter, JetBrains Mono', 'SIL Open Font License 1.1'],
]

export function AboutSection() {
  const { data } = useAnswer('system.info', undefined)
  if (data === undefined) return <Loading />
  const versions = Object.entries(data.versions)
  const text = [
    `turnwise ${data.version}`,
    ...versions.map(([name, version]) => `${name} ${version}`),
    data.platform,
  ].join('\n')
  return (
    <>
      <Section title="Turnwise" actions={<CopyButton text={text} label="Copy the versions" />}>
        <KeyValue
          entries={[
            ['Version', data.version],
            ...versions.map(([name, version]) => [name, version] as const),
            ...(shell === null
              ? [['Window', 'in a browser'] as const]
              : [
                  ['Electron', shell.platform.electron] as const,
                  ['Chromium', shell.platform.chrome] as const,
                ]),
            ['System', data.platform],
            ['Data directory', <code className="font-mono text-sm">{data.dataDirectory}</code>],
          ]}
        />
      </Section>
      <Section
        title="Licence"
        about="Turnwise is free software under the Apache License 2.0; its text is the file LICENSE."
      >
        <table className="w-full max-w-180">
          <caption className="mb-1 text-left text-sm text-muted">Made with the work of others</caption>
          <tbody>
            {licences.map(([names, licence]) => (
              <tr key={names} className="border-t border-line align-top">
                <td className="py-1.5 pr-4 text-pretty">{names}</td>
                <td className="w-44 py-1.5 text-muted">{licence}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
    </>
  )
}
