import { Columns3, ListTree } from 'lucide-react'
import type { Ref } from 'react'
import { runStatuses } from '#shared/runs.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { statusWords } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { plural } from '#renderer/client/format.ts'
import { optionalColumns, type ColumnId } from './columns.tsx'
import { choicesOf, isFiltering, noFilter, searchHint, type RunFilter } from './filter.ts'

interface ToolbarProps {
  readonly runs: readonly RunEntry[]
  readonly shown: number
  readonly filter: RunFilter
  readonly onFilter: (filter: RunFilter) => void
  readonly isTree: boolean
  readonly onTree: (isTree: boolean) => void
  readonly columns: readonly ColumnId[]
  readonly onColumns: (columns: readonly ColumnId[]) => void
  readonly searchRef: Ref<HTMLInputElement>
}

export function RunsToolbar(props: ToolbarProps) {
  const { runs, shown, filter, onFilter, isTree, onTree, columns, onColumns, searchRef } = props
  const { algorithms, tags } = choicesOf(runs)
  const statuses = runStatuses.filter((status) => runs.some((run) => run.status === status))
  const any = (label: string) => ({ value: '', label })
  const toggle = (id: ColumnId) =>
    onColumns(columns.includes(id) ? columns.filter((other) => other !== id) : [...columns, id])
  return (
    <>
      <SearchInput
        ref={searchRef}
        label="Filter runs"
        placeholder={searchHint}
        value={filter.text}
        onChange={(text) => onFilter({ ...filter, text })}
        className="w-64"
      />
      <Select
        aria-label="Status"
        value={filter.status}
        options={[
          any('Any status'),
          ...statuses.map((status) => ({ value: status, label: statusWords(status) })),
        ]}
        onChange={(status) => onFilter({ ...filter, status: status as RunFilter['status'] })}
      />
      <Select
        aria-label="Method"
        value={filter.algorithm}
        options={[any('Any method'), ...algorithms.map((value) => ({ value, label: value }))]}
        onChange={(algorithm) => onFilter({ ...filter, algorithm })}
      />
      {tags.length > 0 && (
        <Select
          aria-label="Tag"
          value={filter.tag}
          options={[any('Any tag'), ...tags.map((value) => ({ value, label: value }))]}
          onChange={(tag) => onFilter({ ...filter, tag })}
        />
      )}
      {isFiltering(filter) && (
        <>
          <span className="text-sm text-faint">
            {shown} of {plural(runs.length, 'run')}
          </span>
          <Button variant="quiet" onClick={() => onFilter(noFilter)}>
            Clear filter
          </Button>
        </>
      )}
      <span className="ml-auto flex items-center gap-1">
        <IconButton
          label="Show forks under their parents"
          icon={<ListTree size={15} aria-hidden />}
          pressed={isTree}
          onClick={() => onTree(!isTree)}
        />
        <Menu
          groups={[
            optionalColumns.map(([id, label]) => ({
              label,
              checked: columns.includes(id),
              onSelect: () => toggle(id),
            })),
          ]}
        >
          <IconButton label="Choose columns" icon={<Columns3 size={15} aria-hidden />} />
        </Menu>
      </span>
    </>
  )
}
