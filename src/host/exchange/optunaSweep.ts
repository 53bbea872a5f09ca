/** Ranges of Optuna 5: `suggest_…` in a Python file, or distributions as its JSON has them. */
import { isObject, type JsonObject } from '#shared/config/paths.ts'
import type { NumericRange, Parameter } from '#shared/studies.ts'
import { asNumber, entryOf } from './links.ts'
import type { PythonCall } from './pythonValues.ts'
import { computed } from './pythonTokens.ts'
import type { ImportNote } from './importNotes.ts'
import type { SettingsSource } from './settingsSource.ts'
import { changed, leftOut, stepped, type FoundParameter, type FoundSweep } from './sweepFiles.ts'

interface Suggestion {
  readonly names: readonly string[]
  readonly kind: 'float' | 'int' | 'categorical'
  readonly low: unknown
  readonly high: unknown
  readonly step: unknown
  readonly log: unknown
  readonly choices: unknown
}

/** null where no ranges of Optuna are described. */
export function optunaSweep(source: SettingsSource): FoundSweep | null {
  const { calls, settings } = source
  const suggested = calls.filter(({ method }) => /^suggest_/.test(method))
  const suggestions = suggested.length > 0 ? suggested.map(suggestionOf) : distributionsOf(source)
  if (suggestions.length === 0) return null
  const notes: ImportNote[] = []
  const seen = new Set<string>()
  const parameters = suggestions.flatMap((each): FoundParameter[] => {
    const [name = ''] = each.names
    if (seen.size === seen.add(name).size) return []
    const range = optunaRange(name, each, notes)
    return range === null ? [] : [{ names: each.names, range }]
  })
  const isDocument = suggested.length === 0
  const methodOf = (pattern: RegExp) => calls.find(({ method }) => pattern.test(method))
  return {
    ...{ from: 'optuna', parameters, notes, name: null },
    fixed: isDocument ? new Map() : settings,
    section: {
      ...samplerOf(methodOf(/Sampler$/), notes),
      ...lengthOf(calls),
      ...prunerOf(methodOf(/Pruner$/), notes),
    },
    metric: { name: null, goal: directionOf(calls) },
  }
}

function suggestionOf(call: PythonCall): Suggestion {
  const [, kind = ''] = /^suggest_(\w+)$/.exec(call.method) ?? []
  const name = call.argument(0, 'name')
  const names = [name, call.target].filter((each): each is string => typeof each === 'string')
  const isOld = kind.includes('uniform')
  return {
    names: names.length === 0 ? [call.name] : [...new Set(names)],
    kind: kind === 'int' || kind === 'categorical' ? kind : 'float',
    low: call.argument(1, 'low'),
    high: call.argument(2, 'high'),
    step: isOld ? call.argument(3, 'q') : call.keywords['step'],
    log: kind === 'loguniform' || call.keywords['log'] === true,
    choices: call.argument(1, 'choices'),
  }
}

/** `{"name": "FloatDistribution", "attributes": {…}}` by parameter, also as texts, also below `distributions`. */
function distributionsOf({ documents }: SettingsSource): Suggestion[] {
  for (const document of documents.flatMap((each) => [each, each['distributions']])) {
    const entries = Object.entries(isObject(document) ? document : {}).map(
      ([name, value]) => [name, typeof value === 'string' ? parsedObject(value) : value] as const,
    )
    const found = entries.flatMap(([name, value]) => distributionOf(name, value) ?? [])
    if (found.length > 0) return found
  }
  return []
}

const distributionName =
  /^(Int|Float|Categorical|Uniform|LogUniform|DiscreteUniform|IntUniform|IntLogUniform)Distribution$/

function distributionOf(name: string, value: unknown): Suggestion | null {
  if (!isObject(value) || !isObject(value['attributes'])) return null
  const kind = distributionName.exec(String(value['name']))?.[1]
  if (kind === undefined) return null
  const { low, high, step, q, log, choices } = value['attributes']
  const shape = kind === 'Categorical' ? 'categorical' : kind.startsWith('Int') ? 'int' : 'float'
  const isLog = log === true || kind.includes('Log')
  return { names: [name], kind: shape, low, high, step: step ?? q, log: isLog, choices }
}

function parsedObject(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function optunaRange(name: string, given: Suggestion, notes: ImportNote[]): Parameter | null {
  if (given.kind === 'categorical') return choicesOf(name, given, notes)
  const [min, max] = [asNumber(given.low), asNumber(given.high)]
  if (min === null || max === null || !(min < max)) {
    notes.push(leftOut(name, `${name} was skipped: only running the file would tell its range.`))
    return null
  }
  const isWhole = given.kind === 'int'
  const step = asNumber(given.step) ?? 0
  const range: NumericRange = { min, max, scale: scaleOf(given, min), whole: isWhole ? true : null }
  const isStepped = step > 0 && !(isWhole && step === 1)
  return isStepped ? stepped(name, range, { step, origin: min, notes }) : range
}

const scaleOf = ({ log }: Suggestion, min: number): 'log' | 'linear' =>
  log === true && min > 0 ? 'log' : 'linear'

function choicesOf(name: string, { choices }: Suggestion, notes: ImportNote[]): Parameter | null {
  if (Array.isArray(choices) && choices.length > 0 && !choices.includes(computed)) return { values: choices }
  notes.push(leftOut(name, `${name} was skipped: only running the file would tell its choices.`))
  return null
}

const samplers: Readonly<Record<string, string>> = {
  TPESampler: 'bayes',
  RandomSampler: 'random',
  QMCSampler: 'random',
  GridSampler: 'grid',
}

function samplerOf(call: PythonCall | undefined, notes: ImportNote[]): JsonObject {
  const method = call === undefined ? 'bayes' : entryOf(samplers, call.method)
  if (call !== undefined && method === undefined)
    notes.push(changed(call.method, `${call.method} became bayes, which is a TPE.`))
  return { method: method ?? 'bayes' }
}

function lengthOf(calls: readonly PythonCall[]): JsonObject {
  const call =
    calls.find(
      ({ method, keywords }) =>
        method === 'hyperparameter_search' ||
        (method === 'optimize' && ('n_trials' in keywords || 'timeout' in keywords)),
    ) ?? calls.find(({ method }) => method === 'optimize')
  const trials = asNumber(
    call?.method === 'optimize' ? call.argument(1, 'n_trials') : call?.keywords['n_trials'],
  )
  const seconds = asNumber(call?.keywords['timeout'])
  return {
    ...(trials === null ? {} : { trials }),
    ...(seconds === null ? {} : { budget: { hours: seconds / 3600 } }),
  }
}

function prunerOf(call: PythonCall | undefined, notes: ImportNote[]): JsonObject {
  if (call === undefined) return {}
  const method = call.method === 'HyperbandPruner' ? 'hyperband' : 'halving'
  const from = asNumber(call.argument(0, 'min_resource')) ?? (method === 'hyperband' ? 1 : null)
  if (!/^(Hyperband|SuccessiveHalving)Pruner$/.test(call.method) || from === null) {
    const because =
      from === null ? 'the first rung is not given' : 'early stopping is by halving or Hyperband'
    notes.push(leftOut(call.method, `${call.method} was skipped: ${because}.`))
    return {}
  }
  const factor = asNumber(call.keywords['reduction_factor']) ?? (method === 'hyperband' ? 3 : 4)
  notes.push(
    changed(
      call.method,
      `${call.method}: Optuna prunes a trial by itself at each report; Turnwise compares all of a rung, by steps.`,
    ),
  )
  return {
    early: {
      method,
      keep: Math.min(16, Math.max(2, Math.round(factor))),
      from: Math.max(1, Math.round(from)),
    },
  }
}

function directionOf(calls: readonly PythonCall[]): 'max' | 'min' {
  const said = calls.map(({ keywords }) => keywords['direction']).find((each) => typeof each === 'string')
  return said === 'maximize' ? 'max' : 'min'
}
