import { CircleAlert, CircleCheck, CircleDashed, TriangleAlert } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { plural } from '#renderer/client/format.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { LazyCodeEditor, LazyCodeView } from '#renderer/editor/lazyEditor.tsx'
import { shelfTitle } from '#renderer/parts/rewardLibrary.ts'
import type { CodeCheck, RewardKind } from '#renderer/parts/rewardTypes.ts'
import { failureWords } from './results.ts'
import type { CodeTrial, EditorStatus, OpenCode } from './Workbench.tsx'

interface EditorPaneProps {
  readonly open: OpenCode
  readonly trial: Omit<CodeTrial, 'button'>
  readonly label: string
  readonly onSave?: () => void
  /** Text left of the language: name and state of the code. */
  readonly about: ReactNode
}

/** Code editor with the sandbox's verdict below. */
export function EditorPane({ open, trial, label, onSave = () => {}, about }: EditorPaneProps) {
  const { key, code, own, view } = open
  const { status, problems, context, act } = trial
  const [typeErrors, setTypeErrors] = useState({ key, count: 0 })
  return (
    <section aria-label="Code" className="flex min-h-0 min-w-0 grow flex-col">
      <div className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-2 overflow-hidden border-b border-line pr-2 pl-3 text-sm text-muted">
        {about}
        <span className="ml-auto" />
        {own === null ? (
          <span>{languageNames[code.language]}</span>
        ) : (
          <Select
            small
            aria-label="Language"
            value={code.language}
            options={{ ts: languageNames.ts, js: languageNames.js }}
            onChange={(language) => own.change({ ...code, language })}
          />
        )}
      </div>
      <div className="min-h-0 grow">
        {own === null ? (
          <LazyCodeView key={key} value={code.code} language={code.language} label="Code, read only" />
        ) : (
          <LazyCodeEditor
            key={key}
            {...{ label, context, problems, onSave }}
            value={code.code}
            language={code.language}
            goTo={view.goTo}
            onTypeErrors={(count) => setTypeErrors({ key, count })}
            onChange={(text) => own.change({ ...code, code: text })}
            onRun={act}
          />
        )}
      </div>
      <footer
        className="flex h-7 shrink-0 items-center gap-2 border-t border-line px-3 text-sm"
        role="status"
      >
        <StatusLine status={status} typeErrors={typeErrors.key === key ? typeErrors.count : 0} />
      </footer>
    </section>
  )
}

const languageNames = { ts: 'TypeScript', js: 'JavaScript' } as const

const statusIcons = { good: CircleCheck, caution: TriangleAlert, bad: CircleAlert } as const
const statusColors = { good: 'text-good', caution: 'text-caution', bad: 'text-bad' } as const

function StatusLine({ status, typeErrors }: { status: EditorStatus | undefined; typeErrors: number }) {
  if (status === undefined)
    return (
      <>
        <CircleDashed size={13} aria-hidden className="text-faint" />
        <span className="text-faint">Not checked yet</span>
      </>
    )
  const isTyped = status.tone !== 'good' || typeErrors === 0
  const { tone, words } = isTyped
    ? status
    : ({ tone: 'caution', words: `Loads, ${plural(typeErrors, 'type error')}` } as const)
  const Icon = statusIcons[tone]
  return (
    <>
      <Icon size={13} aria-hidden className={`shrink-0 ${statusColors[tone]}`} />
      <span className={`truncate ${tone === 'good' ? 'text-muted' : statusColors[tone]}`} title={words}>
        {words}
      </span>
    </>
  )
}

/** Returns the verdict on code that should be of one of these kinds. */
export function codeStatus(
  check: CodeCheck | undefined,
  kinds: readonly RewardKind[],
): EditorStatus | undefined {
  if (check === undefined) return undefined
  if ('problem' in check) return { tone: 'bad', words: `Does not load. ${failureWords(check.problem)}` }
  const { kind, functions } = check
  const words = kind === 'reward' ? functionWords(functions) : codeWords[kind]
  if (kinds.includes(kind)) return { tone: 'good', words: `Loads. ${words}` }
  return { tone: 'bad', words: `${words}, which has a place of its own: ${shelfTitle(kind)}` }
}

const codeWords = {
  environment: 'An environment: reset and step',
  loss: 'A loss',
  workflow: 'A workflow: episode',
} as const

const functionWords = (functions: readonly string[]): string =>
  functions.length === 1
    ? 'One reward function'
    : `${String(functions.length)} reward functions: ${functions.join(', ')}`
