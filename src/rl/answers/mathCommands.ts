/** Meanings of LaTeX commands and signs. */

const ofThemselves = (names: string): Readonly<Record<string, string>> =>
  Object.fromEntries(names.split(' ').map((name) => [`\\${name}`, `\\${name}`]))

/** Relations whose sides may be swapped. */
const mutual = ofThemselves(
  'perp parallel nparallel cong ncong sim simeq asymp iff Leftrightarrow leftrightarrow',
)

export const relations: Readonly<Record<string, string>> = {
  ...mutual,
  ...ofThemselves(
    'subset subseteq subsetneq supset supseteq notin ni mid nmid ll gg prec succ preceq succeq',
  ),
  ...ofThemselves('to mapsto rightarrow longrightarrow Rightarrow implies leftarrow Leftarrow propto'),
  '=': '=',
  '<': '<',
  '>': '>',
  '<=': '<=',
  '>=': '>=',
  '!=': '!=',
  '\\le': '<=',
  '\\leq': '<=',
  '\\leqslant': '<=',
  '\\ge': '>=',
  '\\geq': '>=',
  '\\geqslant': '>=',
  '\\lt': '<',
  '\\gt': '>',
  '\\ne': '!=',
  '\\neq': '!=',
  '\\in': 'in',
  '\\equiv': '=',
  '\\approx': 'about',
  '≈': 'about',
}

/** Returns true if a relation says the same read from right to left. */
export const isMutual = (operator: string): boolean =>
  operator in mutual || ['=', '!=', 'about'].includes(operator)

/** Operations on sets; those of the same name may be in any order. */
export const setOperations: Readonly<Record<string, string>> = {
  '\\cup': 'union',
  '\\union': 'union',
  '\\cap': 'intersection',
  '\\setminus': 'without',
  '\\smallsetminus': 'without',
}

/** Commands that are names; a command in none of these lists means that the text is not mathematics. */
export const names = new Set(
  [
    'alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho',
    'sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega',
    'infty inf infinity emptyset varnothing ell hbar imath jmath partial nabla aleph wp prime top',
    'ldots dots cdots R Z N Q C',
  ]
    .join(' ')
    .split(' ')
    .map((name) => `\\${name}`),
)
/** Commands that make one name of the letters behind them. */
export const prefixes = new Set(['\\angle', '\\measuredangle', '\\triangle', '\\odot', '\\square', '\\arc'])

export const functions = new Set(
  'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log exp lg arg det dim deg ker Re Im'
    .split(' ')
    .map((name) => `\\${name}`),
)
export const bigOperators = new Set(['\\sum', '\\prod', '\\int', '\\lim', '\\max', '\\min', '\\gcd'])
export const closers: Readonly<Record<string, readonly string[]>> = {
  '(': [')', ']'],
  '[': [']', ')'],
  '{': ['}'],
  '\\{': ['\\}'],
  '\\langle': ['\\rangle'],
}
export const bars: Readonly<Record<string, readonly [closing: string, name: string]>> = {
  '|': ['|', 'abs'],
  '\\lvert': ['\\rvert', 'abs'],
  '\\|': ['\\|', 'norm'],
  '\\lfloor': ['\\rfloor', 'floor'],
  '\\lceil': ['\\rceil', 'ceil'],
}
export const separators = [',', '\\and', '\\or']

export const closing = new Set([
  ...['\\}', '\\rangle', '\\rvert', '\\rfloor', '\\rceil', '\\|', '\\end', '\\\\', '\\%', '\\pm', '\\mp'],
  ...['\\cdot', '\\times', '\\ast', '\\div', '\\colon', '\\circ', '\\degree'],
  ...['\\ldots', '\\dots', '\\cdots'],
])

/** Commands with arguments in braces; a `look` changes only how its argument is shown. */
export type CommandForm = 'fraction' | 'root' | 'matrix' | 'binomial' | 'look' | 'accent'

export const forms: readonly (readonly [RegExp, CommandForm])[] = [
  [/^\\[dtc]?frac$/, 'fraction'],
  [/^\\sqrt$/, 'root'],
  [/^\\begin$/, 'matrix'],
  [/^\\[dt]?binom$/, 'binomial'],
  [/^\\(?:boxed|fbox|overline|vec|hat|widehat|overrightarrow)$/, 'look'],
  [/^\\(?:d?dot|bar|tilde|widetilde|underline|check|breve)$/, 'accent'],
]
