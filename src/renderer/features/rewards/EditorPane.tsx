import { CircleAlert, CircleCheck, CircleDashed, TriangleAlert } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { plural } from '#renderer/client/format.ts'
import type { CodeContext } from '#renderer/editor/types/ambient.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { LazyCodeEditor, LazyCodeView } from '#renderer/editor/lazyEditor.tsx'
import type { CodeFailurePlace } from '#renderer/editor/problemLines.ts'
import { shelfOf } from '../../parts/rewardLibrary.ts'
import { failureWords } from './results.ts'
import type { Code, CodeCheck, RewardKind } from '../../parts/rewardTypes.ts'

export interface EditorStatus {
  readonly tone: 'good' | 'caution' | 'bad'
  readonly words: string
}

interface EditorPaneProps {
  /** Reward that the code belongs to: another one gets a new editor with its own undo history. */
  readonly rewardKey: string
  readonly label?: string
  readonly code: Code
  readonly status: EditorStatus | undefined
  readonly problems: readonly CodeFailurePlace[]
  readonly context: CodeContext
  readonly goTo: { readonly line: number } | null
  /** Null for read-only gallery code. */
  readonly onChange: ((code: Code) => void) | null
  readonly onRun: () => void
  readonly onSave: () => void
  /** Text left of the language: name and state of the code. */
  readonly about: ReactNode
}

/** Code editor with the sandbox's verdict below. */
export function EditorPane(props: EditorPaneProps) {
  const { rewardKey, label = 'Reward code', code, status, problems, context, goTo, about } = props
  const { onChange, onRun, onSave } = props
  const [typeErrors, setTypeErrors] = useState({ rewardKey, count: 0 })
  return (
    <section aria-label="Code" className="flex min-h-0 min-w-0 grow flex-col">
      <div className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-2 overflow-hidden border-b border-line pr-2 pl-3 text-sm text-muted">
        {about}
        <span className="ml-auto" />
        {onChange === null ? (
          <span>{languageNames[code.language]}</span>
        ) : (
          <Select
            small
            aria-label="Language"
            value={code.language}
            options={[
              { value: 'ts', label: languageNames.ts },
              { value: 'js', label: languageNames.js },
            ]}
            onChange={(language) => onChange({ ...code, language })}
          />
        )}
      </div>
      <div className="min-h-0 grow">
        {onChange === null ? (
          <LazyCodeView key={rewardKey} value={code.code} language={code.language} label="Code, read only" />
        ) : (
          <LazyCodeEditor
            key={rewardKey}
            label={label}
            value={code.code}
            language={code.language}
            context={context}
            problems={problems}
            goTo={goTo}
            onTypeErrors={(count) => setTypeErrors({ rewardKey, count })}
            onChange={(text) => onChange({ ...code, code: text })}
            onRun={onRun}
            onSave={onSave}
          />
        )}
      </div>
      <footer
        className="flex h-7 shrink-0 items-center gap-2 border-t border-line px-3 text-sm"
        role="status"
      >
        <StatusLine status={status} typeErrors={typeErrors.rewardKey === rewardKey ? typeErrors.count : 0} />
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
  return { tone: 'bad', words: `${words}, which has a place of its own: ${shelfOf(kind).title}` }
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
