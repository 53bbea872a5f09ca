/** Keys of the code editor beyond the usual ones. Esc, then Tab leaves the editor. */
import { acceptCompletion, closeCompletion } from '@codemirror/autocomplete'
import { indentUnit } from '@codemirror/language'
import { Prec, type Extension } from '@codemirror/state'
import { EditorView, keymap, type Command } from '@codemirror/view'

export interface CodeKeyHandlers {
  readonly onRun?: (() => void) | undefined
  readonly onSave?: (() => void) | undefined
}

/** The handlers are asked for when a key is pressed. */
export const codeKeys = (handlers: () => CodeKeyHandlers): Extension => {
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
 * Text typed over a selection is put in here instead of by the browser, which would keep the look of what it removes in a
 * style attribute that the policy of the page forbids.
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
