/**
 * Editing reward code. Reading guide of this folder: CodeEditor.tsx (here) the editor; checker.ts the type checker's
 * worker seen from here; typeExtensions.ts and signatureHint.ts what it gives an editor; runProblems.ts marks of a run;
 * CodeDiff.tsx and CodeView.tsx read only; lazyEditor.tsx loads any of them when it is shown. editorTheme.ts is the look.
 */
import { javascript } from '@codemirror/lang-javascript'
import { indentUnit } from '@codemirror/language'
import { forceLinting, lintGutter } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { basicSetup } from 'codemirror'
import { useEffect, useLayoutEffect, useRef, type RefObject } from 'react'
import type { RowColumn } from './types/ambient.ts'
import type { CodeLanguage } from './types/injectTypes.ts'
import { useLatest } from '#renderer/client/api.tsx'
import { openChecker } from './checker.ts'
import { codeKeys } from './codeKeys.ts'
import { codeLook } from './editorTheme.ts'
import type { CodeFailurePlace } from './problemLines.ts'
import { runProblems, showProblems } from './runProblems.ts'
import { typeExtensions } from './typeExtensions.ts'

export interface CodeEditorProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly language: CodeLanguage
  /** What a screen reader calls it. */
  readonly label: string
  /** Of the rows the code will see; null: nothing is known of them. */
  readonly columns?: readonly RowColumn[] | null
  /** Where the code failed when it ran. */
  readonly problems?: readonly CodeFailurePlace[]
  /** A line to go to; another object goes there again. */
  readonly goTo?: { readonly line: number } | null
  /** How many type errors the code has. */
  readonly onTypeErrors?: (count: number) => void
  /** Ctrl or ⌘ and Enter. */
  readonly onRun?: () => void
  /** Ctrl or ⌘ and S. */
  readonly onSave?: () => void
}

const noProblems: readonly CodeFailurePlace[] = []

/** Fills its parent. */
export function CodeEditor(props: CodeEditorProps) {
  const { value, columns = null, problems = noProblems, goTo = null } = props
  const parent = useRef<HTMLDivElement>(null)
  const view = useCodeView(parent, props)

  // Before the next key press: later, what was typed meanwhile would be taken back.
  useLayoutEffect(() => {
    const shown = view.current
    if (shown === null || shown.state.doc.toString() === value) return
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: value } })
  }, [view, value])
  useEffect(() => {
    if (view.current !== null) showProblems(view.current, problems)
  }, [view, problems])
  useEffect(() => {
    if (view.current !== null) forceLinting(view.current)
  }, [view, columns])

  useEffect(() => {
    const shown = view.current
    if (shown === null || goTo === null) return
    const { from } = shown.state.doc.line(Math.min(Math.max(1, goTo.line), shown.state.doc.lines))
    shown.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
    shown.focus()
  }, [view, goTo])

  return <div ref={parent} className="h-full min-h-0 overflow-hidden" />
}

/** Made once per language and name; everything else is looked up when it is needed. */
function useCodeView(
  parent: RefObject<HTMLDivElement | null>,
  props: CodeEditorProps,
): RefObject<EditorView | null> {
  const latest = useLatest(props)
  const view = useRef<EditorView | null>(null)
  const { language, label } = props
  useEffect(() => {
    if (parent.current === null) return
    const checker = openChecker(() => latest.current.columns ?? null)
    const extensions = [
      basicSetup,
      codeKeys(() => latest.current),
      javascript({ typescript: language === 'ts' }),
      indentUnit.of('  '),
      codeLook(label),
      lintGutter(),
      runProblems,
      typeExtensions({ checker, language: () => language }, (count) => latest.current.onTypeErrors?.(count)),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) latest.current.onChange(update.state.doc.toString())
      }),
    ]
    const state = EditorState.create({ doc: latest.current.value, extensions })
    const made = new EditorView({ state, parent: parent.current })
    view.current = made
    return () => {
      made.destroy()
      view.current = null
      checker.release()
    }
  }, [parent, latest, language, label])
  return view
}
