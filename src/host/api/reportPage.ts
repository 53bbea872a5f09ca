/** HTML of a report: escaped, without a script, asking no other machine for anything; light and dark as the reader's system is. */
import { formatNumber } from '#shared/formatNumber.ts'
import { shownText } from '#shared/shownText.ts'

/** Markup; everything else is text and is escaped. */
export interface Html {
  readonly html: string
}

type Part = Html | string | number

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const markupOf = (part: Part): string =>
  typeof part === 'object'
    ? part.html
    : String(part)
        .split(/(\n)/)
        .map((line) => (line === '\n' ? line : shownText(line)))
        .join('')
        .replaceAll(/[&<>"']/g, (sign) => escapes[sign] ?? sign)

/** Markup with values in it; texts among them are escaped. */
export const markup = (words: TemplateStringsArray, ...parts: readonly Part[]): Html => ({
  html: words.map((each, i) => each + (i < parts.length ? markupOf(parts[i] ?? '') : '')).join(''),
})

const joined = (parts: readonly Part[]): Html => ({ html: parts.map(markupOf).join('') })

export const text = (words: string): Html => markup`<pre dir="auto">${words}</pre>`

export const list = (items: readonly Part[]): Html =>
  markup`<ul>${joined(items.map((item) => markup`<li>${item}</li>`))}</ul>`

/** Empty without content. */
export const section = (title: string, content: readonly Html[]): Html =>
  content.length === 0 ? markup`` : markup`<section><h2>${title}</h2>${joined(content)}</section>`

export function table(head: readonly Part[], rows: readonly (readonly Part[])[]): Html {
  const headings = joined(head.map((words) => markup`<th scope="col">${words}</th>`))
  const cells = (row: readonly Part[]) => joined(row.map((cell) => markup`<td>${cell}</td>`))
  const body = joined(rows.map((row) => markup`<tr>${cells(row)}</tr>`))
  return markup`<div class="scroll" tabindex="0"><table><thead><tr>${headings}</tr></thead><tbody>${body}</tbody></table></div>`
}

export interface ChartLine {
  /** Number of the run, which gives its colour. */
  readonly index: number
  readonly points: readonly { readonly x: number; readonly y: number }[]
  /** Steps without a number: no line is drawn across. */
  readonly gaps: readonly number[]
}

const size = { width: 480, height: 220, left: 56, bottom: 24, top: 10, right: 12 } as const

/** Lines over steps, as inline SVG in the colours of the page. */
export function chart(title: string, lines: readonly ChartLine[]): Html {
  const points = lines.flatMap((line) => line.points)
  if (points.length === 0)
    return markup`<figure class="chart"><figcaption>${title}</figcaption><p>No values.</p></figure>`
  const [only, ...others] = new Set(points.map(({ y }) => y))
  if (only !== undefined && others.length === 0 && points.length > lines.length)
    return markup`<figure class="chart"><figcaption>${title}</figcaption><p>${formatNumber(only)} at every step.</p></figure>`
  const [lowX, highX] = extent(points.map(({ x }) => x))
  const [lowY, highY] = extent(points.map(({ y }) => y))
  const { width, height, left, bottom, top, right } = size
  const xOf = (x: number) => round(left + ((x - lowX) / (highX - lowX)) * (width - left - right))
  const yOf = (y: number) => round(height - bottom - ((y - lowY) / (highY - lowY)) * (height - top - bottom))
  const ticks = [lowY, (lowY + highY) / 2, highY].map(
    (y) =>
      markup`<path class="grid" d="M${left} ${yOf(y)}H${width - right}"/><text x="${left - 6}" y="${yOf(y) + 4}" text-anchor="end">${formatNumber(y)}</text>`,
  )
  const drawn = lines.map(({ index, points: own, gaps }) => {
    const d = own.map(({ x, y }, i) => `${startsAnew(own[i - 1]?.x, x, gaps) ? 'M' : 'L'}${xOf(x)} ${yOf(y)}`)
    return markup`<path class="line c${index % 8}" d="${d.join('')}"/>${own.length === 1 ? markup`<circle class="c${index % 8}" cx="${xOf(own[0]?.x ?? 0)}" cy="${yOf(own[0]?.y ?? 0)}" r="3"/>` : ''}`
  })
  const ends = markup`<text x="${left}" y="${height - 6}">step ${lowX}</text><text x="${width - right}" y="${height - 6}" text-anchor="end">${highX}</text>`
  return markup`<figure class="chart"><figcaption>${title}</figcaption><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">${joined(ticks)}${ends}${joined(drawn)}</svg></figure>`
}

const startsAnew = (before: number | undefined, x: number, gaps: readonly number[]): boolean =>
  before === undefined || gaps.some((gap) => gap > before && gap <= x)

/** Never empty. */
function extent(values: readonly number[]): readonly [number, number] {
  const low = values.reduce((least, value) => Math.min(least, value), Infinity)
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity)
  if (high > low) return [low, high]
  const reach = Math.abs(low) / 2 || 0.5
  return [low - reach, high + reach]
}

const round = (value: number): number => Math.round(value * 100) / 100

const light = ['#4f46e5', '#c2410c', '#0f766e', '#be185d', '#4d7c0f', '#0369a1', '#7e22ce', '#57534e']
const dark = ['#a5b4fc', '#fdba74', '#5eead4', '#f9a8d4', '#bef264', '#7dd3fc', '#d8b4fe', '#d6d3d1']
const colours = (values: readonly string[]) => values.map((value, i) => `.c${i}{--c:${value}}`).join('')

const style = `
:root{color-scheme:light dark;--text:#18181b;--bg:#fff;--muted:#52525b;--line:#d4d4d8}
${colours(light)}
@media(prefers-color-scheme:dark){:root{--text:#f4f4f5;--bg:#101012;--muted:#a1a1aa;--line:#3f3f46}${colours(dark)}}
*{box-sizing:border-box}body{font:14px/1.5 Inter,system-ui,sans-serif;color:var(--text);background:var(--bg);max-width:1100px;margin:24px auto;padding:0 16px}
h1{font-size:22px;overflow-wrap:anywhere}h2{font-size:17px;margin-top:32px}h3{font-size:14px}small,.about{color:var(--muted)}
summary{margin:12px 0;color:var(--muted)}.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:4px 12px 4px 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;overflow-wrap:break-word;min-width:64px;max-width:360px}
th i{display:inline-block;width:10px;height:10px;border-radius:5px;background:var(--c);margin-right:6px}
figure{margin:12px 0;border:1px solid var(--line);border-radius:6px;padding:8px 12px}figcaption{color:var(--muted);font-size:13px}
.chart{display:inline-block;width:min(100%,520px);margin:0 12px 12px 0}svg{display:block;width:100%;height:auto}
svg text{font-size:11px;fill:var(--muted)}.grid{stroke:var(--line);fill:none}.line{stroke:var(--c);fill:none;stroke-width:2}circle{fill:var(--c)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:4px 0 8px;font:12px/1.5 ui-monospace,monospace}`

/** A whole file: it may load nothing and run nothing. */
export function page(title: string, about: string, sections: readonly Html[]): string {
  const policy = "default-src 'none'; style-src 'unsafe-inline'"
  const head = markup`<meta charset="utf-8"/><meta http-equiv="Content-Security-Policy" content="${policy}"/><meta name="viewport" content="width=device-width"/><title>${title}</title>`
  const body = markup`<main><h1>${title}</h1><p class="about">${about}</p>${joined(sections)}</main>`
  return `<!doctype html>\n<html lang="en"><head>${head.html}<style>${style}</style></head><body>${body.html}</body></html>\n`
}
