/** Longest end of a name that stays whole, such as “ · trial 12”. */
const maxEnd = 24

/** Name that is cut before its last part where there is no room: names of a study's trials differ in that alone. */
export function CutName({ name }: { name: string }) {
  const cut = name.lastIndexOf(' · ')
  const [start, end] =
    cut > 0 && name.length - cut <= maxEnd ? [name.slice(0, cut), name.slice(cut)] : [name, '']
  return (
    <span className="flex min-w-0" title={name}>
      <span className="truncate">{start}</span>
      {end !== '' && <span className="shrink-0 whitespace-pre">{end}</span>}
    </span>
  )
}
