import { useMemo } from 'react'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { heatSpecs, tokenValueText, visibleText } from './heat.ts'
import type { TokenRow, TokenValue } from './tokenRows.ts'

interface Props {
  readonly rows: readonly TokenRow[]
  /** Values the run recorded. */
  readonly present: readonly TokenValue[]
}

const widths: Readonly<Record<TokenValue, string>> = {
  probability: '88px',
  advantage: '84px',
  ratio: '64px',
  kl: '64px',
  entropy: '76px',
}
const order: readonly TokenValue[] = ['probability', 'advantage', 'ratio', 'kl', 'entropy']

/** The same tokens as rows of numbers, to be read and sorted. */
export function TokenTable({ rows, present }: Props) {
  const columns = useMemo((): readonly Column<TokenRow>[] => {
    const values = order
      .filter((value) => present.includes(value))
      .map((value): Column<TokenRow> => ({
        id: value,
        title: heatSpecs[value].title,
        width: widths[value],
        isNumber: true,
        cell: (row) => tokenValueText(value, row),
        sortBy: (row) => row[value],
      }))
    return [
      {
        id: 'index',
        title: '#',
        width: '52px',
        isNumber: true,
        cell: ({ index }) => index + 1,
        sortBy: ({ index }) => index,
      },
      {
        id: 'token',
        title: 'Token',
        width: 'minmax(100px,1fr)',
        cell: ({ text, isAction, id }) => (
          <code title={`Id ${String(id)}`} className={isAction ? 'text-sm' : 'text-sm text-faint'}>
            {visibleText(text)}
          </code>
        ),
      },
      ...values,
    ]
  }, [present])
  // Nobody chose the tokens of the prompt, so nothing is known of them.
  const shown = rows.slice(
    Math.max(
      0,
      rows.findIndex(({ isAction }) => isAction),
    ),
  )
  return (
    <div className="flex h-80 flex-col rounded border border-line">
      <Table
        label="Tokens"
        rows={shown}
        columns={columns}
        rowKey={({ index }) => String(index)}
        rowHeight={26}
      />
    </div>
  )
}
