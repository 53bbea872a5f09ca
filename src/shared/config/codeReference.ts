/** Names of code in settings: a file, or a function of one, or a package of Python that stands for code. */

const codeForm = /^(?<file>.*\.(?<language>[cm]?[jt]s|py|json))(?:#(?<name>.+))?$/s
const packageForm = /^(?:gymnasium:.+|reasoning-gym(?:-evaluating)?)$/s

export interface CodeReference {
  /** Path of the code, or the id of a Python package. */
  readonly file: string
  /** `json`: a file that names MCP servers. */
  readonly language: 'ts' | 'js' | 'py' | 'json'
  /** One of its functions; null: its default, else all. */
  readonly name: string | null
}

/** True for the id of a Python package that stands for code: `gymnasium:ID`, `reasoning-gym`, `reasoning-gym-evaluating`. */
export const isPythonPackage = (id: string): boolean => packageForm.test(id)

/** Returns null for the id of a built-in. */
export function codeReference(id: string): CodeReference | null {
  const { file, language, name } = codeForm.exec(id)?.groups ?? {}
  if (file === undefined || language === undefined) {
    return isPythonPackage(id) ? { file: id, language: 'py', name: null } : null
  }
  const own = language === 'py' || language === 'json' ? language : language.endsWith('ts') ? 'ts' : 'js'
  return { file, language: own, name: name ?? null }
}
