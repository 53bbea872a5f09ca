import { javascript } from '@codemirror/lang-javascript'
import { EditorState } from '@codemirror/state'
import { EditorView, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { codeLook } from './editorTheme.ts'

export interface CodeViewProps {
  readonly value: string
  readonly language: 'ts' | 'js' | 'json'
  readonly label: string
}

/** Read-only code; fills its parent. */
export function CodeView({ value, language, label }: CodeViewProps) {
  const parent = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (parent.current === null) return
    const extensions = [
      lineNumbers(),
      javascript({ typescript: language === 'ts' }),
      codeLook(label),
      EditorState.readOnly.of(true),
    ]
    const view = new EditorView({
      state: EditorState.create({ doc: value, extensions }),
      parent: parent.current,
    })
    return () => view.destroy()
  }, [value, language, label])
  return <div ref={parent} className="h-full min-h-0 overflow-hidden" />
}
