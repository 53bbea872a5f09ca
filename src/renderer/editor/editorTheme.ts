/** Look of code, based on the colours of theme.css, so that light, dark and high contrast need no rules of their own. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { styleNonce } from '#renderer/client/theme.ts'

const panel = {
  backgroundColor: 'var(--bg)',
  color: 'var(--text)',
  border: '1px solid var(--line)',
  borderRadius: '6px',
  boxShadow: '0 8px 24px rgb(0 0 0 / 0.16), 0 1px 3px rgb(0 0 0 / 0.12)',
}

const rules = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--bg)', color: 'var(--text)', fontSize: '12.5px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    // Disables ligatures: === stays three characters.
    fontVariantLigatures: 'none',
    fontFamily: 'var(--font-mono, "JetBrains Mono Variable", monospace)',
    lineHeight: '20px',
  },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 12px 0 8px' },
  '.cm-cursor': { borderLeftColor: 'var(--text)', borderLeftWidth: '1.5px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 24%, transparent)',
  },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--raised) 55%, transparent)' },
  '.cm-gutters': { backgroundColor: 'var(--bg)', color: 'var(--faint)', border: 'none', paddingLeft: '4px' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '28px', padding: '0 6px 0 4px' },
  '.cm-activeLineGutter': { backgroundColor: 'transparent', color: 'var(--text)' },
  '.cm-foldGutter .cm-gutterElement': { color: 'var(--faint)' },
  '.cm-gutter-lint': { width: '14px' },
  '.cm-gutter-lint .cm-gutterElement': { padding: '0' },
  '.cm-lint-marker': {
    width: '8px',
    height: '8px',
    margin: '6px 3px',
    content: 'none',
    borderRadius: '999px',
  },
  '.cm-lint-marker-error': { backgroundColor: 'var(--bad)' },
  '.cm-lint-marker-warning': { backgroundColor: 'var(--caution)', borderRadius: '1px' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--caution) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--raised)',
    outline: '1px solid var(--line-strong)',
  },
  '.cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--bad-soft)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--accent-soft)' },
  '.cm-searchMatch': { backgroundColor: 'var(--caution-soft)', outline: '1px solid var(--caution)' },
  '.cm-panels': { backgroundColor: 'var(--panel)', color: 'var(--text)', borderColor: 'var(--line)' },
  '.cm-panels input, .cm-panels button': { fontFamily: 'inherit', fontSize: '12px' },
  '.cm-textfield': {
    backgroundColor: 'var(--bg)',
    border: '1px solid var(--line-strong)',
    borderRadius: '4px',
  },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: 'var(--bg)',
    border: '1px solid var(--line-strong)',
    borderRadius: '4px',
  },
  '.cm-foldPlaceholder': {
    backgroundColor: 'var(--raised)',
    border: 'none',
    color: 'var(--muted)',
    padding: '0 4px',
  },
  '.cm-tooltip': panel,
  '.cm-tooltip .cm-tooltip-section:not(:first-child)': { borderTop: '1px solid var(--line)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--font-mono, monospace)',
    fontSize: '12px',
    maxHeight: '220px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 10px 2px 6px', lineHeight: '20px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-soft)',
    color: 'var(--text)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', color: 'var(--accent-ink)', fontWeight: '600' },
  '.cm-completionIcon': {
    width: '18px',
    opacity: '1',
    color: 'var(--faint)',
    fontSize: '11px',
    paddingRight: '4px',
  },
  '.cm-completionInfo': { maxWidth: '380px', padding: '6px 10px' },
  '.cm-tooltip-lint': { padding: '0' },
  '.cm-diagnostic': {
    padding: '6px 10px',
    borderLeft: 'none',
    fontFamily: 'var(--font-sans, sans-serif)',
    fontSize: '12px',
    maxWidth: '460px',
  },
  '.cm-tw-signature': {
    fontFamily: 'var(--font-mono, monospace)',
    fontSize: '12px',
    lineHeight: '18px',
    whiteSpace: 'pre-wrap',
  },
  '.cm-tw-words': {
    fontFamily: 'var(--font-sans, sans-serif)',
    fontSize: '12px',
    lineHeight: '18px',
    color: 'var(--muted)',
    marginTop: '2px',
  },
  '.cm-tw-hint': { padding: '6px 10px', maxWidth: '460px' },
  '.cm-tw-here': { color: 'var(--accent-ink)', fontWeight: '600' },
  '.cm-tw-failed': { backgroundColor: 'var(--bad-soft)' },
  '.cm-tw-failed-number': { color: 'var(--bad)', fontWeight: '600' },
  '.cm-tw-sentence': {
    backgroundColor: 'var(--bad-soft)',
    color: 'var(--bad)',
    fontFamily: 'var(--font-sans, sans-serif)',
    fontSize: '12px',
    lineHeight: '18px',
    padding: '0 12px 2px 24px',
  },
  '.cm-changedLine': { backgroundColor: 'var(--good-soft) !important' },
  '.cm-deletedChunk, &.cm-merge-a .cm-changedLine': { backgroundColor: 'var(--bad-soft) !important' },
  '.cm-deletedChunk': { paddingLeft: '8px' },
  '.cm-changedText': { background: 'color-mix(in srgb, var(--good) 24%, transparent) !important' },
  '.cm-deletedChunk .cm-deletedText, &.cm-merge-a .cm-changedText': {
    background: 'color-mix(in srgb, var(--bad) 24%, transparent) !important',
  },
  '.cm-changeGutter': { width: '3px', paddingLeft: '1px' },
  '.cm-changedLineGutter': { background: 'var(--good)' },
  '.cm-deletedLineGutter': { background: 'var(--bad)' },
  '.cm-collapsedLines': {
    background: 'var(--panel)',
    color: 'var(--muted)',
    padding: '2px 12px',
    fontFamily: 'var(--font-sans, sans-serif)',
    fontSize: '12px',
  },
})

/** Mixes a hue dark (or light) enough for small letters, also on the background of a failing line. */
const legible = (name: string): string => `color-mix(in srgb, var(${name}) 72%, var(--text))`

/** Few colours, by meaning: keywords, strings, numbers; the rest is plain. */
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--accent-ink)' },
  { tag: [tags.string, tags.special(tags.string)], color: legible('--run-3') },
  { tag: tags.regexp, color: legible('--run-4') },
  { tag: [tags.number, tags.bool, tags.null], color: legible('--run-2') },
  { tag: [tags.typeName, tags.className], color: legible('--run-1') },
  { tag: tags.function(tags.definition(tags.variableName)), fontWeight: '600' },
  { tag: tags.propertyName, color: 'var(--text)' },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: 'var(--faint)', fontStyle: 'italic' },
  { tag: tags.invalid, color: 'var(--bad)' },
])

/** Returns the look of an editor; the label is its accessible name. */
export const codeLook = (label: string): Extension => [
  EditorView.cspNonce.of(styleNonce()),
  rules,
  syntaxHighlighting(colours),
  EditorView.contentAttributes.of({
    'aria-label': label,
    spellcheck: 'false',
    tabindex: '0',
    'aria-description': 'Tab indents; Escape, then Tab leaves the code.',
  }),
  EditorState.tabSize.of(2),
]
