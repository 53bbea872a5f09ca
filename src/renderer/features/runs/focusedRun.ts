/** The row the keys mean: the one that has the focus. */

const rowOf = (element: Element | null): HTMLElement | null =>
  element?.closest<HTMLElement>('[role="row"][data-index]') ?? null

/** null: no row has it. */
export const focusedRunId = (): string | null =>
  rowOf(document.activeElement)?.querySelector<HTMLElement>('[data-run]')?.dataset['run'] ?? null

/** To the next or the previous row; to the first where none has the focus. */
export function moveRowFocus(direction: 1 | -1): void {
  const row = rowOf(document.activeElement)
  if (row === null) {
    document.querySelector<HTMLElement>('[role="row"][data-index][tabindex="0"]')?.focus()
    return
  }
  row.focus()
  row.dispatchEvent(
    new KeyboardEvent('keydown', { key: direction === 1 ? 'ArrowDown' : 'ArrowUp', bubbles: true }),
  )
}
