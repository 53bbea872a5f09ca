/** Longest end of a name that stays whole, such as “ · trial 12”. */
const maxEnd = 24

/** Letters that stay of the end of other names: “arith-grpo-1-gentle” and “arith-grpo-1” differ there. */
const keptEnd = 7

/** Letters that stay of the start, and for which the end gives way where there is no room for both. */
const keptStart = 5

/** Name that is cut in the middle where there is no room, before its last part if it has parts: similar names differ at their ends. */
export function CutName({ name }: { name: string }) {
  const [start, end] = partsOf(name)
  // Read as one word: the boxes of its parts would be told of with a space between.
  const isOneWord = end !== '' && !end.startsWith(' ')
  return (
    <span className="flex min-w-0" title={name}>
      {isOneWord && <span className="sr-only">{name}</span>}
      <span
        aria-hidden={isOneWord}
        className="shrink-[999999] overflow-hidden text-ellipsis whitespace-pre"
        style={{ minWidth: end === '' ? 0 : `${String(Math.min(keptStart, start.length))}ch` }}
      >
        {start}
      </span>
      {end !== '' && (
        <span aria-hidden={isOneWord} className="min-w-0 overflow-hidden text-ellipsis whitespace-pre">
          {end}
        </span>
      )}
    </span>
  )
}

function partsOf(name: string): readonly [start: string, end: string] {
  const part = name.lastIndexOf(' · ')
  if (part > 0 && name.length - part <= maxEnd) return [name.slice(0, part), name.slice(part)]
  return name.length < 2 * keptEnd ? [name, ''] : [name.slice(0, -keptEnd), name.slice(-keptEnd)]
}
