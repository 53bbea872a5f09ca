/** Where code failed when it ran: the line marked, what happened below it. Marks move with the text until the next run. */
import {
  RangeSet,
  StateEffect,
  StateField,
  type EditorState,
  type Extension,
  type Range,
  type Text,
} from '@codemirror/state'
import {
  Decoration,
  EditorView,
  gutterLineClass,
  GutterMarker,
  WidgetType,
  type DecorationSet,
} from '@codemirror/view'
import { linesOf, type CodeFailurePlace } from './problemLines.ts'

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

export const runProblems: Extension = field

/** Shows these instead of those before, and brings the first into view. */
export function showProblems(view: EditorView, problems: readonly CodeFailurePlace[]): void {
  const [first] = linesOf(problems, view.state.doc.lines)
  const show =
    first === undefined
      ? []
      : [EditorView.scrollIntoView(view.state.doc.line(first.line).from, { y: 'nearest', yMargin: 40 })]
  view.dispatch({ effects: [setProblems.of(problems), ...show] })
}
