/** View settings of the table of runs, and actions on its rows. */
import { useCallback, useMemo, useState } from 'react'
import type { Sorting } from '#renderer/kit/Table.tsx'
import { shell } from '#renderer/client/connection.ts'
import { runTitle } from '#renderer/client/words.ts'
import { useAnswer, useApi } from '#renderer/client/api.tsx'
import { asError, codeOf, hintOf, toast, toastError } from '#renderer/client/toasts.ts'
import { useFileDialog } from '#renderer/client/fileDialog.ts'
import { useKeys } from '#renderer/client/keys.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { useMediaQuery } from '#renderer/client/mediaQuery.ts'
import { useRoute } from '#renderer/client/route.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { defaultColumns, fewerColumns, type ColumnId } from './columns.tsx'
import { familyRows, flatRows, seedRows } from './families.ts'
import { between, filterRuns, noFilter } from '#renderer/parts/filter.ts'

const nobody: readonly string[] = []
const noFamilies: readonly (readonly string[])[] = []
const compareLimit = 64

/** Pinned runs come first; the baseline is what others are compared with. Both are remembered. */
function useMarks() {
  const [pinnedIds, setPinned] = useSetting<readonly string[]>('runs.pinned', nobody)
  const [baseline, setBaseline] = useSetting<string | null>('runs.baseline', null)
  const pinned = useMemo(() => new Set(pinnedIds), [pinnedIds])
  const togglePin = (runId: string) =>
    setPinned(pinned.has(runId) ? pinnedIds.filter((id) => id !== runId) : [...pinnedIds, runId])
  const toggleBaseline = (runId: string) => setBaseline(baseline === runId ? null : runId)
  return { pinned, baseline, togglePin, toggleBaseline }
}

/** Returns the rows that match the filter, pinned ones first, with seeds combined, or forks below their parents. */
export function useShownRuns(runs: readonly RunEntry[]) {
  const { query } = useRoute()
  const [filter, setFilter] = useState({ ...noFilter, study: query.get('study') ?? '' })
  const [isTree, setTree] = useSetting('runs.tree', false)
  const [open, setOpen] = useSetting<readonly string[]>('runs.openSeeds', nobody)
  const { data: families = noFamilies } = useAnswer('runs.seedFamilies', undefined)
  const marks = useMarks()
  const { pinned } = marks
  const shown = useMemo(() => {
    const isPinned = ({ id }: RunEntry) => Number(pinned.has(id))
    const found = filterRuns(runs, filter).toSorted((a, b) => isPinned(b) - isPinned(a))
    if (isTree) return familyRows(found)
    return filter.study === '' ? seedRows(flatRows(found), families, open) : flatRows(found)
  }, [runs, filter, isTree, pinned, families, open])
  const order = useMemo(
    () =>
      shown.flatMap(({ run, seeds }) => {
        if (seeds === undefined) return [run.id]
        return seeds.isOpen ? [] : seeds.runIds
      }),
    [shown],
  )
  const toggleSeeds = (runIds: readonly string[]) => {
    const others = open.filter((id) => !runIds.includes(id))
    setOpen(others.length < open.length ? others : [...open, ...runIds])
  }
  return { filter, setFilter, isTree, setTree, shown, order, toggleSeeds, marks }
}

/** Columns shown and their sorting; remembered. Until the user chooses columns, there are as many as fit the window. */
export function useColumns() {
  const hasRoom = useMediaQuery('(width >= 1260px)')
  const initial = hasRoom ? defaultColumns : fewerColumns
  const [columns, setColumns] = useSetting<readonly ColumnId[]>('runs.columns', initial)
  const [sorting, setSorting] = useSetting<Sorting | null>('runs.sorting', null)
  return { columns, setColumns, sorting, setSorting }
}

/** Selected rows. `order`: ids in the order shown, for selecting ranges. */
export function useSelection(order: readonly string[]) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(() => new Set())
  const [last, setLast] = useState<string | null>(null)
  const select = useCallback(
    (runId: string, isRange: boolean) => {
      setLast(runId)
      setSelected((before) => {
        const next = new Set(before)
        if (isRange) for (const id of between(order, last, runId)) next.add(id)
        else if (!next.delete(runId)) next.add(runId)
        return next
      })
    },
    [order, last],
  )
  const clear = useCallback(() => setSelected(new Set()), [])
  const forget = useCallback(
    (runIds: readonly string[]) =>
      setSelected((before) => new Set([...before].filter((id) => !runIds.includes(id)))),
    [],
  )
  return { selected, select, clear, forget }
}

/** Returns the query of a comparison, oldest run first: it is the baseline if none is marked. */
export function compareQuery(runs: readonly RunEntry[], baseline: string | null) {
  const runIds = runs
    .toSorted((a, b) => a.createdAt - b.createdAt)
    .map(({ id }) => id)
    .slice(0, compareLimit)
  return {
    runs: runIds.join(','),
    baseline: baseline !== null && runIds.includes(baseline) ? baseline : runIds[0],
  }
}

interface RunKeys {
  readonly onFilter: () => void
  readonly onSelect: (runId: string) => void
  readonly onBaseline: (runId: string) => void
  readonly onPin: (runId: string) => void
  readonly onCompare: () => void
  /** Selected runs. A single one is the target of keys while no row has the focus; two or more can be compared. */
  readonly chosen: readonly RunEntry[]
}

/** Keys of the table; most act on the focused row. */
export function useRunKeys({ onFilter, onSelect, onBaseline, onPin, onCompare, chosen }: RunKeys): void {
  const onFocused = (act: (runId: string) => void) => () => {
    const runId = focusedRunId() ?? (chosen.length === 1 ? chosen[0]?.id : undefined)
    if (runId !== undefined) act(runId)
  }
  useKeys({
    filter: onFilter,
    select: onFocused(onSelect),
    baseline: onFocused(onBaseline),
    pin: onFocused(onPin),
    nextRow: () => moveRowFocus(1),
    previousRow: () => moveRowFocus(-1),
    ...(chosen.length < 2 ? {} : { compareSelected: onCompare }),
  })
}

/** Writes bundles to a chosen location: one file, or one per run into a folder. */
export function useExportBundles(): (runs: readonly RunEntry[]) => void {
  const client = useApi()
  const choose = useFileDialog((state) => state.choose)
  return useCallback(
    (runs) => {
      const write = async () => {
        const [only] = runs
        const target =
          runs.length === 1 && only
            ? await choose({ kind: 'save', title: 'Export bundle', suggestedName: bundleName(only) })
            : await choose({ kind: 'folder', title: 'Folder for the bundles' })
        if (target === null) return
        // The system's dialog has already asked whether to replace an existing file.
        await writeAll(target, runs.length === 1 && shell !== null)
      }
      const writeAll = async (target: string, overwrite: boolean) => {
        try {
          for (const run of runs) {
            const path = runs.length === 1 ? target : `${target}/${bundleName(run)}`
            await client.call('runs.exportBundle', { runId: run.id, path, overwrite })
          }
          toast({
            title: runs.length === 1 ? 'Bundle written' : `${String(runs.length)} bundles written`,
            detail: target,
            tone: 'good',
          })
        } catch (thrown) {
          const error = asError(thrown)
          if (codeOf(error) !== 'file/exists') throw error
          const action = { label: 'Overwrite', run: () => settle(writeAll(target, true)) }
          toast({ title: error.message, detail: hintOf(error), tone: 'bad', action })
        }
      }
      const settle = (writing: Promise<void>) =>
        void writing.catch((thrown: unknown) => toastError(asError(thrown)))
      settle(write())
    },
    [client, choose],
  )
}

/** Returns a unique file name, even if names of runs are equal. */
const bundleName = (run: RunEntry): string =>
  `${runTitle(run).replace(/[^\w.-]+/g, '-')}-${run.id.slice(-6)}.run.json`

/* The row the keys mean: the one that has the focus. */

const rowOf = (element: Element | null): HTMLElement | null =>
  element?.closest<HTMLElement>('[role="row"][data-index]') ?? null

/** Null if no row has the focus. */
const focusedRunId = (): string | null =>
  rowOf(document.activeElement)?.querySelector<HTMLElement>('[data-run]')?.dataset['run'] ?? null

/** Moves to the next or previous row; to the first if none has the focus. */
function moveRowFocus(direction: 1 | -1): void {
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
