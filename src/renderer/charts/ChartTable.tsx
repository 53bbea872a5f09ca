import type { Scene } from './scene.ts'
import { axisNumber3, indexNear, tableRows } from './summary.ts'
import { xAxisSpecs } from './xAxes.ts'

/** The same numbers as a table: at most fifty rows, evenly drawn. */
export function ChartTable({ title, scene, height }: { title: string; scene: Scene; height: number }) {
  const longest = scene.lines.toSorted((a, b) => b.points.length - a.points.length)[0]
  const [low, high] = scene.x.domain
  const inside = longest?.points.filter(({ endX }) => endX >= low && endX <= high) ?? []
  const rows = tableRows(inside)
  return (
    <div
      className="overflow-auto px-3 pb-2"
      style={{ height }}
      tabIndex={0}
      role="group"
      aria-label={`${title} as a table`}
    >
      <table className="w-full text-sm tabular-nums">
        <thead className="sticky top-0 bg-bg text-left text-muted">
          <tr>
            <th scope="col" className="pr-3 font-medium">
              {xAxisSpecs[scene.xAxis].label}
            </th>
            {scene.lines.map(({ id, label }) => (
              <th key={id} scope="col" className="max-w-40 truncate pr-3 text-right font-medium">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="font-mono">
          {rows.map(({ endX }) => (
            <tr key={endX} className="border-t border-line">
              <th scope="row" className="pr-3 text-left font-normal text-muted">
                {xAxisSpecs[scene.xAxis].write(endX)}
              </th>
              {scene.lines.map((line) => {
                const point = line.points[indexNear(line.points, endX, (high - low) / 1000)]
                return (
                  <td key={line.id} className="pr-3 text-right">
                    {point ? axisNumber3(point.last) : '–'}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
