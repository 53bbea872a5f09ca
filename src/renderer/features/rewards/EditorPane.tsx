import { CircleAlert, CircleCheck, CircleDashed, TriangleAlert } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { plural } from '#renderer/client/format.ts'
import type { RowColumn } from '#renderer/editor/types/ambient.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { LazyCodeEditor, LazyCodeView } from '#renderer/editor/lazyEditor.tsx'
import type { CodeFailurePlace } from '#renderer/editor/problemLines.ts'
import { failureWords } from './results.ts'
import type { Code, CodeCheck } from './types.ts'

interface EditorPaneProps {
  /** The reward it is the code of: another one is another editor, with its own undo. */
  readonly rewardKey: string
  readonly code: Code
  readonly check: CodeCheck | undefined
  readonly problems: readonly CodeFailurePlace[]
  readonly columns: readonly RowColumn[] | null
  readonly goTo: { readonly line: number } | null
  /** null: it comes with the program and is only read. */
  readonly onChange: ((code: Code) => void) | null
  readonly onRun: () => void
  readonly onSave: () => void
  /** Left of the language: what is open and in which state. */
  readonly about: ReactNode
}

/** The code with what the sandbox says of it underneath. */
export function EditorPane(props: EditorPaneProps) {
  const { rewardKey, code, check, problems, columns, goTo, onChange, onRun, onSave, about } = props
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
            label="Reward code"
            value={code.code}
            language={code.language}
            columns={columns}
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
        <CheckLine check={check} typeErrors={typeErrors.rewardKey === rewardKey ? typeErrors.count : 0} />
      </footer>
    </section>
  )
}

const languageNames = { ts: 'TypeScript', js: 'JavaScript' } as const

function CheckLine({ check, typeErrors }: { check: CodeCheck | undefined; typeErrors: number }) {
  if (check === undefined)
    return (
      <>
        <CircleDashed size={13} aria-hidden className="text-faint" />
        <span className="text-faint">Not checked yet</span>
      </>
    )
  if ('problem' in check) {
    const words = `Does not load. ${failureWords(check.problem)}`
    return (
      <>
        <CircleAlert size={13} aria-hidden className="shrink-0 text-bad" />
        <span className="truncate text-bad" title={words}>
          {words}
        </span>
      </>
    )
  }
  if (typeErrors > 0)
    return (
      <>
        <TriangleAlert size={13} aria-hidden className="shrink-0 text-caution" />
        <span className="truncate text-caution">Loads, {plural(typeErrors, 'type error')}</span>
      </>
    )
  const { kind, functions } = check
  const words = kind === 'environment' ? 'An environment: reset and step' : functionWords(functions)
  return (
    <>
      <CircleCheck size={13} aria-hidden className="shrink-0 text-good" />
      <span className="truncate text-muted">Loads. {words}</span>
    </>
  )
}

const functionWords = (functions: readonly string[]): string =>
  functions.length === 1
    ? 'One reward function'
    : `${String(functions.length)} reward functions: ${functions.join(', ')}`
