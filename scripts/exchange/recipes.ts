/**
 * Imports every recipe in folders of checked-out repositories and says by tool how many were read and how many refused, with the
 * reasons, and where a YAML recipe that was read differs from a plain reading of the same lines:
 *
 *   node scripts/exchange/recipes.ts FOLDER… [--files]
 *
 * Each FOLDER is a checkout, named after its repository. `--files` lists every file with what became of it. Nothing is run.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { AppError } from '#shared/errors.ts'
import { isObject, leaves, type JsonObject } from '#shared/config/paths.ts'
import { importConfig, type ImportedConfig } from '#host/exchange/importConfig.ts'

export interface Recipe {
  readonly repository: string
  readonly file: string
  /** What it was read as; null: refused. */
  readonly reading: string | null
  readonly refusal: string | null
  /** Where it differs from the plain reading. */
  readonly differences: readonly string[]
  /** Whether there was a plain reading to compare with. */
  readonly isCompared: boolean
}

/** Folders of a repository that hold recipes of trainings. */
const recipeFolders =
  /(^|\/)(recipes|examples?|configs?|scripts|benchmarking|training|tutorials?|notebooks|exp|recipe)\//
/** Parts of the repositories that are no recipes, by their folders and names. */
const others =
  /(^|\/)(\.github|tests?|docker|node_modules|deepspeed[\w-]*|accelerate[\w-]*|fsdp[\w-]*|_build|data|dataset|assets|requirements)(\/|[\w.-]*$)|(compose|mkdocs|pre-commit|environment|dataset_info)[\w.-]*$/i

/** Whether Python makes a trainer of a tool that is imported. */
const trains = (code: string): boolean =>
  /^\s*"?(from|import) +(trl|agilerl)\b/m.test(code) &&
  /\b(\w+(Trainer|Config)|INIT_HP|finetune_llm\w*)\b *(\(|=)/.test(code)

/** Recipes of a checkout, by their names. */
export const recipesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => /\.(ya?ml|sh|py|ipynb)$/.test(name) && recipeFolders.test(`/${name}`) && !others.test(name),
    )
    .filter((name) => statSync(path.join(folder, name)).isFile())
    .filter((name) => !/\.(py|ipynb)$/.test(name) || trains(readFileSync(path.join(folder, name), 'utf8')))
    .sort()

export function readRecipe(folder: string, file: string): Recipe {
  const text = readFileSync(path.join(folder, file), 'utf8')
  const known = { repository: path.basename(folder), file }
  try {
    const outcome = importConfig(text, null, { home: '/home/person' })
    const plain = /\.ya?ml$/.test(file) ? plainReading(text, outcome) : null
    return {
      ...known,
      reading: outcome.reading,
      refusal: null,
      isCompared: plain !== null,
      differences: plain === null ? [] : differencesOf(plain, outcome),
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { ...known, reading: null, refusal: error.message, differences: [], isCompared: false }
  }
}

/* The plain reading: the first of several names that stands in the file, and no defaults. */

type Fact = 'algorithm' | 'model' | 'data' | 'learning rate' | 'batch' | 'length' | 'rank'
type Plain = Readonly<Partial<Record<Fact, unknown>>>

const namesFor: Readonly<Record<Exclude<Fact, 'algorithm' | 'batch'>, readonly string[]>> = {
  model: [...['model_name_or_path', 'base_model', 'pretrained_model_name_or_path', 'actor.path']],
  data: ['dataset_name', 'dataset_mixer', 'train_dataset.path', 'datasets', 'dataset'],
  'learning rate': ['learning_rate', 'lr', 'actor.optimizer.lr'],
  length: [
    ...['max_completion_length', 'max_output_tokens', 'gconfig.max_new_tokens'],
    ...['sequence_len', 'cutoff_len', 'max_length', 'max_seq_length'],
  ],
  rank: ['lora_r', 'lora_rank', 'actor.lora_rank'],
}

function plainReading(text: string, { tool }: ImportedConfig): Plain | null {
  const document = parse(text) as unknown
  if (!isObject(document)) return null
  const all = new Map([...leaves(document)].map(([name, value]) => [name, value]))
  const sections = new Map(Object.entries(document))
  const find = (name: string): unknown => {
    const own = all.get(name) ?? sections.get(name)
    if (own !== undefined || tool !== 'agilerl') return own
    return [...all].find(([each]) => each.toLowerCase().endsWith(`.${name}`))?.[1]
  }
  const first = (names: readonly string[]) =>
    names.map(find).find((value) => value !== undefined && value !== null)
  const facts = Object.entries(namesFor).map(([fact, names]) => [fact, first(names)] as const)
  return { ...Object.fromEntries(facts), algorithm: plainAlgorithm(find), batch: plainBatch(find) }
}

/** Only where the file says it in a word. */
function plainAlgorithm(find: (name: string) => unknown): unknown {
  const word = find('stage') ?? find('rl') ?? find('algorithm.name')
  const known = ['sft', 'dpo', 'grpo', 'gspo', 'cispo']
  const lower = typeof word === 'string' ? word.toLowerCase() : ''
  return known.includes(lower) && find('loss_type') === undefined ? lower : undefined
}

/** Rows of an update; of groups the numbers differ, and are left to `num_generations`. */
function plainBatch(find: (name: string) => unknown): unknown {
  const whole = find('train_dataset.batch_size')
  if (whole !== undefined) return whole
  const each = find('per_device_train_batch_size') ?? find('micro_batch_size')
  const grouped = find('num_generations') !== undefined
  return typeof each !== 'number' || grouped
    ? undefined
    : each * Number(find('gradient_accumulation_steps') ?? 1)
}

function differencesOf(plain: Plain, { config }: ImportedConfig): string[] {
  const { algorithm, model, data, optimization, rollout, adapter, contextLength } = config
  const ours: Readonly<Record<Fact, readonly unknown[]>> = {
    algorithm: [algorithm.id],
    model: [model],
    data: [data.train],
    'learning rate': [optimization.learningRate],
    batch: [rollout.promptsPerStep],
    length: [rollout.maxNewTokens, contextLength],
    rank: [adapter.rank],
  }
  return Object.entries(plain).flatMap(([fact, value]) => {
    const told = comparable(value)
    const own = ours[fact as Fact].map(String)
    const isOpen = told === null || (fact === 'rank' && told === '0')
    return isOpen || own.some((each) => isSame(each, told))
      ? []
      : [`${fact}: ${told}, read as ${own.join(' or ')}`]
  })
}

const isSame = (ours: string, told: string): boolean =>
  ours === told || (told !== '' && Number(ours) === Number(told))

/** The files beside the format that opens them, else the name. */
function dataNamed(entry: JsonObject): unknown {
  const named = entry['path'] ?? entry['id'] ?? Object.keys(entry)[0]
  const isFormat = typeof named === 'string' && ['json', 'csv', 'parquet', 'text'].includes(named)
  return isFormat ? entry['data_files'] : named
}

/** Of a list or a mixture its first; null: nothing that can be compared, such as a reference. */
function comparable(value: unknown): string | null {
  if (Array.isArray(value)) return comparable((value as unknown[])[0])
  if (isObject(value)) return comparable(dataNamed(value))
  if (typeof value === 'string')
    return value.includes('${') || value === 'null' ? null : (value.split(',')[0] ?? '').trim()
  return typeof value === 'number' ? String(value) : null
}

/* The table. */

export function tableOf(recipes: readonly Recipe[]): string[] {
  const rows = [...Map.groupBy(recipes, ({ repository }) => repository)].map(([repository, own]) => {
    const read = own.filter(({ reading }) => reading !== null)
    const compared = read.filter(({ isCompared }) => isCompared)
    const differing = compared.filter(({ differences }) => differences.length > 0)
    const cells = [
      repository,
      own.length,
      read.length,
      compared.length,
      differing.length,
      own.length - read.length,
    ]
    return `| ${[...cells, reasonsOf(own)].join(' | ')} |`
  })
  return [
    '| repository | recipes | read | compared | different | refused | why |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ]
}

function reasonsOf(recipes: readonly Recipe[]): string {
  const reasons = Map.groupBy(
    recipes.flatMap(({ refusal }) => (refusal === null ? [] : [kindOf(refusal)])),
    (kind) => kind,
  )
  return [...reasons]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([kind, own]) => `${own.length}: ${kind}`)
    .join('; ')
}

/** A refusal without the names of one file in it. */
const kindOf = (refusal: string): string =>
  refusal
    .replace(/^The command starts \S+( \S+)? and sets nothing itself.*$/, 'the command sets nothing itself')
    .replace(/ \([^)]*\)/g, '')
    .replace(/^The file is /, '')
    .replace(/; nothing was changed\.$/, '')
    .replace(/ has no equivalent in Turnwise\.$/, '')
    .replace(/\.$/, '')
    .replaceAll('|', '\\|')

if (import.meta.main) {
  const folders = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
  const recipes = folders.flatMap((folder) => recipesIn(folder).map((file) => readRecipe(folder, file)))
  if (process.argv.includes('--files'))
    for (const { repository, file, reading, refusal } of recipes)
      console.log(`${repository}/${file}: ${reading ?? `refused: ${refusal ?? ''}`}`)
  console.log(tableOf(recipes).join('\n'))
  for (const { repository, file, differences } of recipes)
    if (differences.length > 0) console.log(`${repository}/${file}: ${differences.join('; ')}`)
}
