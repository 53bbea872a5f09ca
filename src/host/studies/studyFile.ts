/** Reads the file of a study: JSON as a run config is, or YAML. */
import { isObject, type JsonObject } from '#shared/config/paths.ts'
import { invalidConfig } from '#shared/errors.ts'
import { studyKinds, type StudyKind } from '#shared/studies.ts'
import { commandWord } from '#shared/shownText.ts'
import { readJsonObject, readSmallFile } from '#host/files/strictJson.ts'
import { parseYaml, YamlFault } from '#host/files/yaml.ts'

const maxBytes = 4 << 20

/** Errors: AppError 'config/invalid' where it cannot be read, or is of another kind; 'file/unreadable'. */
export function readStudyFile(file: string, kind: StudyKind): JsonObject {
  const given = /[.]ya?ml$/i.test(file) ? readYaml(file) : readJsonObject(file, 'config/invalid')
  if (given[kind] !== undefined) return given
  const other = studyKinds.find((each) => given[each] !== undefined)
  throw invalidConfig(
    `${file} has no section ${kind}.`,
    other === undefined
      ? 'Add one to the run config; docs/reference.md shows an example.'
      : { command: `It describes ${titles[other]}: turnwise ${other} ${commandWord(file)}` },
  )
}

const titles: Readonly<Record<StudyKind, string>> = {
  population: 'a population',
  sweep: 'a sweep',
  seeds: 'runs over seeds',
}

function readYaml(file: string): JsonObject {
  const refused = (problem: string) => invalidConfig(problem, 'Nothing was started.')
  const text = new TextDecoder().decode(readSmallFile(file, maxBytes))
  try {
    const value = parseYaml(text, { maxAliasCount: 100 })
    if (isObject(value)) return value
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error
    throw refused(`${file} is not valid YAML: ${error.message}.`)
  }
  throw refused(`${file} does not hold settings by name.`)
}
