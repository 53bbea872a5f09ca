import { Button } from '#renderer/kit/Button.tsx'

/** Columns to be put into a template. */
export function ColumnChips({
  names,
  onInsert,
}: {
  names: readonly string[]
  onInsert: (name: string) => void
}) {
  return (
    <div className="flex flex-wrap items-center gap-1" role="group" aria-label="Insert a column">
      <span className="mr-1 text-xs text-faint">Insert</span>
      {names.map((name) => (
        <Button
          key={name}
          small
          className="max-w-48 font-mono"
          // The cursor stays where the text is typed.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onInsert(name)}
        >
          <span className="truncate">{`{${name}}`}</span>
        </Button>
      ))}
    </div>
  )
}
