/** Completion, hovers, problems and parameter hints in an editor, provided by the type checker. */
import {
  autocompletion,
  insertCompletionText,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete'
import { linter, type Diagnostic } from '@codemirror/lint'
import { type Extension, StateEffect, StateField, type EditorState } from '@codemirror/state'
import {
  hoverTooltip,
  type EditorView,
  showTooltip,
  ViewPlugin,
  type Tooltip,
  type ViewUpdate,
} from '@codemirror/view'
import type { CodeLanguage } from './types/injectTypes.ts'
import type { CheckedCode, Completion as Offer, Explanation, Signature } from './types/typeService.ts'
import type { Checker } from './checker.ts'

/** `onErrors`: receives the number of type errors after every check. */
export const typeExtensions = (typed: TypedCode, onErrors: (count: number) => void): Extension => [
  autocompletion({ override: [(context) => complete(typed, context)], icons: false }),
  linter(
    async (view) => {
      const found = await problems(typed, view)
      onErrors(found.filter(({ severity }) => severity === 'error').length)
      return found
    },
    { delay: 350 },
  ),
  hoverTooltip((view, at) => explain(typed, view, at), { hoverTime: 350 }),
  signatureHint(typed),
]

async function complete(typed: TypedCode, context: CompletionContext): Promise<CompletionResult | null> {
  const isInside = context.matchBefore(/(?:[\w$]|\.|\[['"])$/) !== null
  if (!isInside && !context.explicit) return null
  const given = checkedCode(typed, context.state)
  const list = await orNothing(typed.checker.types().complete({ ...given, at: context.pos }))
  if (list === null || context.aborted) return null
  const options = list.items.map((offer) => optionOf(typed, offer, { ...given, at: context.pos }))
  return { from: list.from, options, validFor: /^[\w$]*$/ }
}

/** Icons of the completion list by the checker's kinds. */
const kinds: Readonly<Record<string, string>> = {
  property: 'property',
  getter: 'property',
  method: 'method',
  function: 'function',
  'local function': 'function',
  const: 'constant',
  let: 'variable',
  var: 'variable',
  'local var': 'variable',
  parameter: 'variable',
  keyword: 'keyword',
  class: 'class',
  interface: 'interface',
  type: 'type',
  module: 'namespace',
  string: 'text',
}

function optionOf(typed: TypedCode, offer: Offer, place: CheckedCode & { readonly at: number }): Completion {
  const { label, insert, from: own, kind, order } = offer
  const describe = async (): Promise<HTMLElement | null> => {
    const found = await orNothing(typed.checker.types().describe({ ...place, label }))
    return found === null ? null : explanationNode(found)
  }
  return {
    label,
    type: kinds[kind] ?? 'variable',
    // Sort text 11 marks members and locals, 15 keywords.
    boost: 12 - Math.min(40, Number.parseInt(order.replace(/^\D+/, ''), 10) || 40),
    info: describe,
    ...(insert === null && own === null
      ? {}
      : {
          apply: (view: EditorView, _: Completion, from: number, to: number) =>
            view.dispatch(insertCompletionText(view.state, insert ?? label, own ?? from, to)),
        }),
  }
}

async function problems(typed: TypedCode, view: EditorView): Promise<Diagnostic[]> {
  const given = checkedCode(typed, view.state)
  const found = await orNothing(typed.checker.types().problems(given))
  const length = view.state.doc.length
  return (found ?? []).map(({ from, to, severity, sentence }) => ({
    from: Math.min(from, length),
    to: Math.min(to, length),
    severity,
    message: sentence,
  }))
}

async function explain(typed: TypedCode, view: EditorView, at: number) {
  const found = await orNothing(typed.checker.types().explain({ ...checkedCode(typed, view.state), at }))
  if (found === null || found.signature === '') return null
  return {
    pos: found.from,
    end: found.to,
    above: true,
    create: () => {
      const dom = explanationNode(found)
      dom.classList.add('cm-tw-hint')
      return { dom }
    },
  }
}

function explanationNode({
  signature,
  documentation,
}: Pick<Explanation, 'signature' | 'documentation'>): HTMLElement {
  const node = document.createElement('div')
  node.append(textNode('cm-tw-signature', signature))
  if (documentation !== '') node.append(textNode('cm-tw-words', documentation))
  return node
}

/* While the arguments of a call are written: its parameters, with the one that comes next. */

const setHint = StateEffect.define<Tooltip | null>()

const hintField = StateField.define<Tooltip | null>({
  create: () => null,
  update(hint, transaction) {
    for (const effect of transaction.effects) if (effect.is(setHint)) return effect.value
    return hint
  },
  provide: (field) => showTooltip.from(field),
})

const signatureHint = (typed: TypedCode): Extension => [hintField, follower(typed)]

const follower = (typed: TypedCode) =>
  ViewPlugin.define((view) => {
    let asked = 0
    const ask = async (): Promise<void> => {
      const round = ++asked
      const { state } = view
      const at = state.selection.main.head
      const found = await orNothing(typed.checker.types().signature({ ...checkedCode(typed, state), at }))
      // Typing has gone on, and a newer request is in flight.
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

/* Code whose types are known, and how what is known of it is shown. */

interface TypedCode {
  readonly checker: Checker
  readonly language: () => CodeLanguage
}

const checkedCode = ({ language }: TypedCode, state: EditorState): CheckedCode => ({
  code: state.doc.toString(),
  language: language(),
})

const orNothing = <Answer>(answer: Promise<Answer | null>): Promise<Answer | null> => answer.catch(() => null)

function textNode(className: string, text: string): HTMLElement {
  const node = document.createElement('div')
  node.className = className
  node.textContent = text
  return node
}
