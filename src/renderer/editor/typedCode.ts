/** Code whose types are known, and how what is known of it is shown. */
import type { EditorState } from '@codemirror/state'
import type { CodeLanguage } from './types/injectTypes.ts'
import type { CheckedCode } from './types/protocol.ts'
import type { Checker } from './checker.ts'

export interface TypedCode {
  readonly checker: Checker
  readonly language: () => CodeLanguage
}

export const checkedCode = ({ language }: TypedCode, state: EditorState): CheckedCode => ({
  code: state.doc.toString(),
  language: language(),
})

/** An answer that never came says nothing. */
export const orNothing = <Answer>(answer: Promise<Answer | null>): Promise<Answer | null> =>
  answer.catch(() => null)

export function textNode(className: string, text: string): HTMLElement {
  const node = document.createElement('div')
  node.className = className
  node.textContent = text
  return node
}
