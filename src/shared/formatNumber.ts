/** Formats numbers for people. */
export const noNumber = '–'

/** Formats three significant digits, without exponents where people expect none; with a true minus sign. */
export function formatNumber(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return noNumber
  return value === 0 ? '0' : formatSize(value, digits)
}

function formatSize(value: number, digits: number): string {
  const size = Math.abs(value)
  if (size === Infinity) return value > 0 ? '∞' : '−∞'
  if (size >= 1e15 || size < 1e-4) return minus(value.toExponential(digits - 1).replace(/\.?0+e/, 'e'))
  if (size >= 10 ** digits) return minus(Math.round(value).toLocaleString('en-US').replaceAll(',', ' '))
  return minus(String(Number(value.toPrecision(digits))))
}

export const minus = (text: string): string => text.replace(/^-/, '−')
