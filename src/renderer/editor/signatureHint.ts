/** While the arguments of a call are written: its parameters, with the one that comes next. */
import { StateEffect, StateField, type Extension } from '@codemirror/state'
import { showTooltip, ViewPlugin, type Tooltip, type ViewUpdate } from '@codemirror/view'
import type { Signature } from './types/protocol.ts'
import { checkedCode, orNothing, textNode, type TypedCode } from './typedCode.ts'

const setHint = StateEffect.define<Tooltip | null>()

const hintField = StateField.define<Tooltip | null>({
  create: () => null,
  update(hint, transaction) {
    for (const effect of transaction.effects) if (effect.is(setHint)) return effect.value
    return hint
  },
  provide: (field) => showTooltip.from(field),
})

export const signatureHint = (typed: TypedCode): Extension => [hintField, follower(typed)]

const follower = (typed: TypedCode) =>
  ViewPlugin.define((view) => {
    let asked = 0
    const ask = async (): Promise<void> => {
      const round = ++asked
      const { state } = view
      const at = state.selection.main.head
      const found = await orNothing(typed.checker.ask('signature', { ...checkedCode(typed, state), at }))
      // Typing has gone on: its own question is under way.
      if (round !== asked || view.state.doc !== state.doc) return
      const hint = found === null ? null : tooltipOf(found, at)
      if (hint !== null || view.state.field(hintField) !== null) view.dispatch({ effects: setHint.of(hint) })
    }
    return {
      update(update: ViewUpdate) {
        const isShown = update.state.field(hintField) !== null
        if (opensCall(update) || (isShown && (update.docChanged || update.selectionSet))) void ask()
      },
    }
  })

function opensCall(update: ViewUpdate): boolean {
  if (!update.docChanged || !update.transactions.some((each) => each.isUserEvent('input'))) return false
  const at = update.state.selection.main.head
  return /[(,]/.test(update.state.sliceDoc(Math.max(0, at - 2), at))
}

const tooltipOf = ({ before, parameter, after, documentation }: Signature, at: number): Tooltip => ({
  pos: at,
  above: true,
  create: () => {
    const dom = textNode('cm-tw-hint', '')
    const line = textNode('cm-tw-signature', before)
    const here = document.createElement('span')
    here.className = 'cm-tw-here'
    here.textContent = parameter
    line.append(here, after)
    dom.append(line)
    if (documentation !== '') dom.append(textNode('cm-tw-words', documentation))
    return { dom }
  },
})
