import { javascript } from '@codemirror/lang-javascript'
import { indentUnit } from '@codemirror/language'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { basicSetup } from 'codemirror'
import { useEffect, useRef } from 'react'
import { useLatest } from '#renderer/client/api.tsx'
import { codeLook } from '#renderer/editor/editorTheme.ts'

interface JsonEditorProps {
  /** Initial text; `onChange` receives edits. */
  readonly value: string
  readonly onChange: (value: string) => void
  readonly label: string
}

/** JSON editor with colours and folding; fills its parent. */
export function JsonEditor({ value, onChange, label }: JsonEditorProps) {
  const parent = useRef<HTMLDivElement>(null)
  const first = useRef(value)
  const latest = useLatest(onChange)
  useEffect(() => {
    if (parent.current === null) return
    const extensions = [
      basicSetup,
      javascript(),
      indentUnit.of('  '),
      codeLook(label),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) latest.current(update.state.doc.toString())
      }),
    ]
    const view = new EditorView({
      state: EditorState.create({ doc: first.current, extensions }),
      parent: parent.current,
    })
    view.focus()
    return () => view.destroy()
  }, [label, latest])
  return <div ref={parent} className="h-full min-h-0 overflow-hidden" />
}
