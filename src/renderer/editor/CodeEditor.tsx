/**
 * Editor of reward code. Reading guide of this folder: CodeEditor.tsx (here) the editor, its keys and the marks of a
 * run; checker.ts the client of the type checker's worker; typeExtensions.ts what it adds to an editor; CodeDiff.tsx
 * and CodeView.tsx are read-only; lazyEditor.tsx loads any of them when it is shown. editorTheme.ts is the look.
 */
import { javascript } from '@codemirror/lang-javascript'
import { indentUnit } from '@codemirror/language'
import { forceLinting, lintGutter } from '@codemirror/lint'
import {
  EditorState,
  Prec,
  type Extension,
  RangeSet,
  StateEffect,
  StateField,
  type Range,
  type Text,
} from '@codemirror/state'
import {
  EditorView,
  keymap,
  type Command,
  Decoration,
  gutterLineClass,
  GutterMarker,
  WidgetType,
  type DecorationSet,
} from '@codemirror/view'
import { basicSetup } from 'codemirror'
import { useEffect, useLayoutEffect, useRef, type RefObject } from 'react'
import { acceptCompletion, closeCompletion } from '@codemirror/autocomplete'
import { useLatest } from '#renderer/client/api.tsx'
import type { CodeContext } from './types/ambient.ts'
import type { CodeLanguage } from './types/injectTypes.ts'
import { openChecker } from './checker.ts'
import { codeLook } from './editorTheme.ts'
import { type CodeFailurePlace, linesOf } from './problemLines.ts'
import { typeExtensions } from './typeExtensions.ts'

export interface CodeEditorProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly language: CodeLanguage
  readonly label: string
  readonly context?: CodeContext
  readonly problems?: readonly CodeFailurePlace[]
  /** Line to scroll to; a new object scrolls there again. */
  readonly goTo?: { readonly line: number } | null
  readonly onTypeErrors?: (count: number) => void
  /** Runs on Ctrl or ⌘ and Enter. */
  readonly onRun?: () => void
  /** Runs on Ctrl or ⌘ and S. */
  readonly onSave?: () => void
}

const noProblems: readonly CodeFailurePlace[] = []

/** Code editor; fills its parent. */
export function CodeEditor(props: CodeEditorProps) {
  const { value, context = null, problems = noProblems, goTo = null } = props
  const parent = useRef<HTMLDivElement>(null)
  const view = useCodeView(parent, props)

  // Set before the next key press: any later, text typed meanwhile would be reverted.
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
  }, [view, context])

  useEffect(() => {
    const shown = view.current
    if (shown === null || goTo === null) return
    const { from } = shown.state.doc.line(Math.min(Math.max(1, goTo.line), shown.state.doc.lines))
    shown.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
    shown.focus()
  }, [view, goTo])

  return <div ref={parent} className="h-full min-h-0 overflow-hidden" />
}

/** Creates the view once per language and label; everything else is looked up when needed. */
function useCodeView(
  parent: RefObject<HTMLDivElement | null>,
  props: CodeEditorProps,
): RefObject<EditorView | null> {
  const latest = useLatest(props)
  const view = useRef<EditorView | null>(null)
  const { language, label } = props
  useEffect(() => {
    if (parent.current === null) return
    const checker = openChecker(() => latest.current.context ?? null)
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

/* Keys of the code editor beyond the usual ones. Esc, then Tab leaves the editor. */

interface CodeKeyHandlers {
  readonly onRun?: (() => void) | undefined
  readonly onSave?: (() => void) | undefined
}

/** Binds the keys; handlers are looked up when a key is pressed. */
const codeKeys = (handlers: () => CodeKeyHandlers): Extension => {
  const handled = (name: keyof CodeKeyHandlers): Command => {
    return (view) => {
      const run = handlers()[name]
      if (run === undefined) return false
      closeCompletion(view)
      run()
      return true
    }
  }
  const keys = Prec.highest(
    keymap.of([
      { key: 'Mod-Enter', run: handled('onRun') },
      { key: 'Mod-s', run: handled('onSave'), preventDefault: true },
      { key: 'Tab', run: (view) => acceptCompletion(view) || indent(view), shift: outdent },
    ]),
  )
  return [keys, typeOverSelection]
}

/**
 * Inserts text typed over a selection here instead of in the browser, which would keep the look of the removed text
 * in a style attribute that the page's policy forbids.
 */
const typeOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data } = event
    const { from, to, empty } = view.state.selection.main
    if (event.inputType !== 'insertText' || data === null || empty || view.composing) return false
    const typed = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true })
    const isTaken = view.state
      .facet(EditorView.inputHandler)
      .some((handle) => handle(view, from, to, data, typed))
    if (!isTaken) view.dispatch(typed())
    return true
  },
})

const indent: Command = (view) => {
  const { main } = view.state.selection
  const unit = view.state.facet(indentUnit)
  if (main.empty)
    view.dispatch(view.state.replaceSelection(unit), { scrollIntoView: true, userEvent: 'input.indent' })
  else changeLines(view, (from) => ({ from, insert: unit }))
  return true
}

const outdent: Command = (view) => {
  const unit = view.state.facet(indentUnit).length
  changeLines(view, (from, text) => {
    const spaces = Math.min(unit, /^ */.exec(text)?.[0].length ?? 0)
    return { from, to: from + spaces, insert: '' }
  })
  return true
}

type Change = (
  from: number,
  text: string,
) => { readonly from: number; readonly to?: number; readonly insert: string }

function changeLines(view: EditorView, change: Change): void {
  const { doc, selection } = view.state
  const first = doc.lineAt(selection.main.from).number
  const last = doc.lineAt(selection.main.to).number
  const lines = Array.from({ length: last - first + 1 }, (_, i) => doc.line(first + i))
  view.dispatch({ changes: lines.map(({ from, text }) => change(from, text)), userEvent: 'input.indent' })
}

/* Where code failed when it ran: the line marked, what happened below it. Marks move with the text until the next run. */

const setProblems = StateEffect.define<readonly CodeFailurePlace[]>()

class Sentence extends WidgetType {
  readonly text: string

  constructor(text: string) {
    super()
    this.text = text
  }

  override eq(other: Sentence): boolean {
    return other.text === this.text
  }

  override toDOM(): HTMLElement {
    const node = document.createElement('div')
    node.className = 'cm-tw-sentence'
    node.textContent = `✕ ${this.text}`
    node.title = this.text
    return node
  }
}

class FailedNumber extends GutterMarker {
  override elementClass = 'cm-tw-failed-number'
}

const failedNumber = new FailedNumber()
const failedLine = Decoration.line({ class: 'cm-tw-failed' })

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    const set = transaction.effects.findLast((effect) => effect.is(setProblems))
    if (set !== undefined) return marksOf(transaction.state.doc, set.value)
    return marks.map(transaction.changes)
  },
  provide: (own) => [
    EditorView.decorations.from(own),
    gutterLineClass.compute([own], (state) => numbersOf(state)),
  ],
})

function marksOf(doc: Text, problems: readonly CodeFailurePlace[]): DecorationSet {
  const ranges = linesOf(problems, doc.lines).flatMap(({ line, sentence }): Range<Decoration>[] => {
    const { from, to } = doc.line(line)
    const words = Decoration.widget({ widget: new Sentence(sentence), side: 1, block: true })
    return [failedLine.range(from), words.range(to)]
  })
  return Decoration.set(ranges, true)
}

function numbersOf(state: EditorState): RangeSet<GutterMarker> {
  const starts: number[] = []
  const marks = state.field(field)
  marks.between(0, state.doc.length, (from, _, value) => {
    if (value === failedLine) starts.push(state.doc.lineAt(from).from)
  })
  return RangeSet.of([...new Set(starts)].map((at) => failedNumber.range(at)))
}

const runProblems: Extension = field

/** Replaces the problems shown and scrolls to the first. */
function showProblems(view: EditorView, problems: readonly CodeFailurePlace[]): void {
  const [first] = linesOf(problems, view.state.doc.lines)
  const show =
    first === undefined
      ? []
      : [EditorView.scrollIntoView(view.state.doc.line(first.line).from, { y: 'nearest', yMargin: 40 })]
  view.dispatch({ effects: [setProblems.of(problems), ...show] })
}
