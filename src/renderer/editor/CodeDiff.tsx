import { javascript } from '@codemirror/lang-javascript'
import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { codeLook } from './editorTheme.ts'

export interface CodeDiffProps {
  readonly before: string
  readonly after: string
  readonly language: 'ts' | 'js'
  readonly label: string
  /** Side by side, or removed and added lines in one column. */
  readonly layout?: 'split' | 'unified'
}

const collapseUnchanged = { margin: 3, minSize: 6 }

/** Compares two versions of code; fills its parent. */
export function CodeDiff({ before, after, language, label, layout = 'unified' }: CodeDiffProps) {
  const parent = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (parent.current === null) return
    const look = readOnly(language, label)
    if (layout === 'split') {
      const merge = new MergeView({
        a: { doc: before, extensions: look },
        b: { doc: after, extensions: look },
        parent: parent.current,
        collapseUnchanged,
      })
      return () => merge.destroy()
    }
    const unified = unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged })
    const state = EditorState.create({ doc: after, extensions: [look, unified] })
    const view = new EditorView({ state, parent: parent.current })
    return () => view.destroy()
  }, [before, after, language, label, layout])
  return <div ref={parent} className="h-full min-h-0 overflow-auto" />
}

const readOnly = (language: 'ts' | 'js', label: string): Extension => [
  lineNumbers(),
  javascript({ typescript: language === 'ts' }),
  codeLook(label),
  EditorState.readOnly.of(true),
  EditorView.lineWrapping,
]
