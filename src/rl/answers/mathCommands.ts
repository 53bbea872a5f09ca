/** Meanings of LaTeX commands and signs. */

export const relations: Readonly<Record<string, string>> = {
  ...{ '=': '=', '<': '<', '>': '>', '<=': '<=', '>=': '>=', '!=': '!=' },
  ...{ '\\le': '<=', '\\leq': '<=', '\\leqslant': '<=', '\\ge': '>=', '\\geq': '>=', '\\geqslant': '>=' },
  ...{
    '\\lt': '<',
    '\\gt': '>',
    '\\ne': '!=',
    '\\neq': '!=',
    '\\in': 'in',
    '\\equiv': '=',
    '\\approx': 'about',
    '≈': 'about',
  },
}
export const functions = new Set(
  'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log exp lg'
    .split(' ')
    .map((name) => `\\${name}`),
)
export const bigOperators = new Set(['\\sum', '\\prod', '\\int', '\\lim', '\\max', '\\min', '\\gcd'])
export const closers: Readonly<Record<string, readonly string[]>> = {
  ...{ '(': [')', ']'], '[': [']', ')'], '{': ['}'], '\\{': ['\\}'], '\\langle': ['\\rangle'] },
}
export const bars: Readonly<Record<string, readonly [closing: string, name: string]>> = {
  ...{ '|': ['|', 'abs'], '\\lvert': ['\\rvert', 'abs'], '\\|': ['\\|', 'norm'] },
  ...{ '\\lfloor': ['\\rfloor', 'floor'], '\\lceil': ['\\rceil', 'ceil'] },
}
export const separators = [',', '\\and', '\\or']

export const closing = new Set([
  ...['\\}', '\\rangle', '\\rvert', '\\rfloor', '\\rceil', '\\|', '\\end', '\\\\', '\\%', '\\pm', '\\mp'],
  ...['\\cdot', '\\times', '\\ast', '\\div', '\\colon', '\\cup', '\\union', '\\circ', '\\degree'],
])

/** Commands with arguments in braces; a `look` changes only how its argument is shown. */
export type CommandForm = 'fraction' | 'root' | 'matrix' | 'binomial' | 'look'

export const forms: readonly (readonly [RegExp, CommandForm])[] = [
  [/^\\[dtc]?frac$/, 'fraction'],
  [/^\\sqrt$/, 'root'],
  [/^\\begin$/, 'matrix'],
  [/^\\[dt]?binom$/, 'binomial'],
  [/^\\(?:boxed|fbox|overline|vec|hat|widehat|overrightarrow)$/, 'look'],
]
