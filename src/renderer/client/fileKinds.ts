/** What a dropped or chosen file is, from its name alone: nothing is read before a person agrees. */
export type FileKind = 'data' | 'model' | 'adapter' | 'reward' | 'bundle' | 'unknown'

const endings: Readonly<Record<string, FileKind>> = {
  csv: 'data',
  tsv: 'data',
  jsonl: 'data',
  ndjson: 'data',
  json: 'data',
  parquet: 'data',
  ts: 'reward',
  js: 'reward',
  mjs: 'reward',
  turnwise: 'bundle',
}

export const acceptedWords =
  'data (csv, tsv, json, jsonl, parquet), reward code (ts, js), folders of models and adapters'

export const kindOfName = (name: string): FileKind =>
  endings[/\.([^.]+)$/.exec(name.toLowerCase())?.[1] ?? ''] ?? 'unknown'

/** From the names in a folder. */
export function kindOfFolder(names: readonly string[]): FileKind {
  if (names.includes('adapter_config.json')) return 'adapter'
  return names.includes('config.json') ? 'model' : 'unknown'
}

export const whatHappens: Readonly<Record<FileKind, string>> = {
  data: 'Opens a preview; nothing is imported before you say so.',
  model: 'Shows the model; it is copied when you say so.',
  adapter: 'Shows the adapter.',
  reward: 'Opens the code in the reward editor; nothing is run.',
  bundle: 'Shows the run; it is added when you say so.',
  unknown: `Turnwise cannot read this. It takes ${acceptedWords}.`,
}
