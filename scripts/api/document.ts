/**
 * docs/api.md: what the package exports, in the order in which it is used, with the comments of the sources. The package holds
 * the build that Electron runs and an entry for programs (write.ts); it is marked private, so that it can be packed but not
 * published by accident.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { format } from 'prettier'
import { lossFunctions } from '../../src/shared/lossLanguage.ts'
import type { Declaration } from './declarations.ts'

const root = path.resolve(import.meta.dirname, '../..')

interface Section {
  readonly title: string
  readonly words: string
  /** Exported names; types that only these rest on are shown after them. */
  readonly names: readonly string[]
}

const sections: readonly Section[] = [
  {
    title: 'Training',
    words: '`train` runs the built-in training loop, or your own if you pass a [script](#scripts).',
    names: ['train', 'resume', 'TrainOptions', 'RunConfigInput', 'RunConfig', 'RunEvent', 'Metrics'],
  },
  {
    title: 'Scripts',
    words:
      'A script is a training loop: an async generator that draws prompts, rolls out, learns and reports, and yields after every step. Pass it to `train`, or export it from a file for `turnwise run` ([reference](reference.md#training-scripts)).',
    names: [
      'TrainingScript',
      'ScriptRun',
      'ScriptRollout',
      'Stats',
      'withReward',
      'Trajectory',
      'Prompt',
      'DataRow',
      'Reward',
    ],
  },
  {
    title: 'Policies',
    words: 'A policy is a model opened in this process, for generation, scoring and rollouts.',
    names: [
      ...[
        'openPolicy',
        'ModelSubject',
        'RunSubject',
        'PolicyOptions',
        'Policy',
        'Question',
        'GenerateOptions',
      ],
      ...['AnsweredCompletion', 'Scores', 'rollout', 'JudgingConfig', 'RolloutOptions'],
    ],
  },
  {
    title: 'Evaluation',
    words:
      'Results are stored in the history, where `turnwise evaluations compare` can test one against another.',
    names: ['evaluate', 'EvaluateOptions', 'Evaluation', 'EvaluatedRow', 'EvaluatedSample'],
  },
  {
    title: 'Losses',
    words: `A loss is a file of its own, which a config names as \`algorithm.id\`; it runs in the sandbox, where operations on tensors are
recorded and differentiated. The exports below let an editor check such a file; called outside of the sandbox, the functions throw.

\`\`\`ts
import { clip, defineLoss, exp, mean, min } from 'turnwise'

export default defineLoss({
  settings: { clip: 0.2 },
  loss({ logp, oldLogp, advantages, mask, settings }) {
    const ratio = exp(logp - oldLogp)
    const clipped = clip(ratio, 1 - settings.clip, 1 + settings.clip)
    return -mean(min(ratio * advantages, clipped * advantages), mask)
  },
})
\`\`\``,
    names: [
      ...['defineLoss', 'LossDefinition', 'LossInputs', 'AdvantageRow', 'Tensor'],
      ...lossFunctions.map(([, { as }]) => as),
    ],
  },
  {
    title: 'Workflows',
    words: `A workflow is a file of its own, which a config names as \`rollout.workflow\`; it runs in the sandbox and defines how an episode goes.

\`\`\`ts
import { defineWorkflow } from 'turnwise'

export default defineWorkflow({
  settings: { samples: 4 },
  async episode({ prompt, engine, settings }) {
    const answers = await engine.generate({ ids: prompt.ids, samples: settings.samples })
    return answers.map(({ allIds, actionMask }) => ({ ids: allIds, actions: actionMask }))
  },
})
\`\`\``,
    names: ['defineWorkflow', 'WorkflowDefinition', 'EpisodeInput', 'WorkflowTrajectory'],
  },
  {
    title: 'Rewards',
    words: `A reward function is the default export of a file, which a config names in \`rewards\`; it runs in the sandbox.

\`\`\`ts
import type { RewardFunction } from 'turnwise'

const short: RewardFunction = ({ completion, row, log }) => {
  log.metric('characters', completion.length)
  return completion === row['answer'] ? 1 - completion.length / 1000 : 0
}
export default short
\`\`\``,
    names: ['RewardFunction', 'RewardInput', 'Score', 'Token', 'Row'],
  },
  {
    title: 'Tools',
    words:
      'Functions that a policy may call are the default export of a file, which a config names as `environment.function`; they run in the sandbox.',
    names: ['defineTools'],
  },
  { title: 'Errors and version', words: '', names: ['AppError', 'version'] },
]

const introduction = (version: string): string => `# Programmatic API

<!-- Written by \`npm run docs:api\` from the declarations of the package. -->

\`import … from 'turnwise'\`: training, generation and evaluation in your own programs. This page describes version ${version}.
[examples/ownLoop.ts](../examples/ownLoop.ts) is a program with its own training loop, [examples/gsm8k.ts](../examples/gsm8k.ts) a script.

- **Installation.** \`npm pack\` in a checkout builds the package, \`npm install --ignore-scripts turnwise-${version}.tgz\` adds it to a project
  (no dependency needs its install script; that of ONNX Runtime downloads GPU libraries). Programs need Node 24.9 or newer; on older
  versions the import fails with an error that says so. On Linux x64 npm installs a suitable Node with the package: \`npx node program.ts\`. TypeScript also
  needs \`@types/node\`.
- **Stability.** Versions follow [Semantic Versioning](https://semver.org/). The public API is what this page lists and nothing else: paths
  inside the package, files in the data directory and the host's own API may change at any time. Before 1.0.0, minor versions may contain
  breaking changes, which [CHANGELOG.md](../CHANGELOG.md) describes; patch versions do not. New members, such as another kind of event or
  a setting with a default, are not breaking changes.
- **Units.** Log-probabilities and entropies are in nats, times in seconds, lengths in tokens. Comments give the shapes of arrays.
- **Errors.** Errors that you can fix are instances of [AppError](#apperror); the [reference](reference.md#errors) explains their codes.
`

/** Errors: an exported name that stands in no section, or one that is in a section and not exported. */
export async function apiDocument(all: readonly Declaration[]): Promise<string> {
  const byName = new Map(all.map((each) => [each.name, each]))
  const placed = new Set(sections.flatMap(({ names }) => names))
  const missing = all.filter(({ name, isPublic }) => isPublic && !placed.has(name)).map(({ name }) => name)
  if (missing.length > 0)
    throw new Error(`${missing.join(', ')}: exported, but in no section of docs/api.md.`)
  const manifest = readFileSync(path.join(root, 'package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  const parts = [introduction(version), overview([...placed].flatMap((name) => byName.get(name) ?? []))]
  for (const { title, words, names } of sections) {
    parts.push(`## ${title}\n${words === '' ? '' : `\n${words}\n`}`)
    for (const group of grouped(names.map((name) => known(byName, name)))) parts.push(await entry(group))
  }
  parts.push('## Other types\n\nTypes used by those above. They are not exported.\n')
  for (const each of all
    .filter(({ isPublic }) => !isPublic)
    .sort((a, b) => a.name.localeCompare(b.name, 'en')))
    parts.push(await entry([each]))
  return parts.join('\n')
}

/** The functions that do something, by the first sentence of what is said of them. */
function overview(all: readonly Declaration[]): string {
  const lines = all.flatMap(({ name, kind, isPublic, source, text }) => {
    const [, comment] = /^\/\*\*([^]*?)\*\//.exec(text) ?? []
    if (kind !== 'function' || !isPublic || comment === undefined || !source.startsWith('src/')) return []
    const [sentence = ''] = comment
      .replaceAll(/\s*\n\s*\*?\s*/g, ' ')
      .trim()
      .split(/(?<=[.:;]) /)
    return [`- [\`${name}\`](#${name.toLowerCase()}): ${sentence.replace(/[.:;]$/, '')}.`]
  })
  return `${lines.join('\n')}\n`
}

function known(byName: ReadonlyMap<string, Declaration>, name: string): Declaration {
  const found = byName.get(name)
  if (found === undefined || !found.isPublic)
    throw new Error(`docs/api.md tells of ${name}, which is not exported.`)
  return found
}

/** Functions of one line stand together. */
function grouped(entries: readonly Declaration[]): readonly Declaration[][] {
  const groups: Declaration[][] = []
  for (const each of entries) {
    const last = groups.at(-1)
    if (isShort(each) && last?.every(isShort) === true) last.push(each)
    else groups.push([each])
  }
  return groups
}

const isShort = ({ kind, text }: Declaration): boolean =>
  kind === 'function' && text.split('\n').length <= 2 && text.length < 200

/** The same type twice would be read twice. */
const likeOthers: Readonly<Record<string, string>> = {
  RunConfig: '[RunConfigInput](#runconfiginput) with all defaults filled in.',
}

async function entry(group: readonly Declaration[]): Promise<string> {
  const [first] = group
  if (first === undefined) return ''
  const title = group.map(({ name }) => name).join(', ')
  const likeAnother = likeOthers[title]
  if (likeAnother !== undefined) return `### ${title}\n\n${likeAnother}\n`
  if (group.length > 1) return `### ${title}\n\n${await code(group.map(({ text }) => text).join('\n'))}`
  const [, comment = ''] = /^\/\*\*([^]*?)\*\/\n/.exec(first.text) ?? []
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, ''))
  const [words = '', example] = lines
    .join('\n')
    .trim()
    .split(/^@example$/m)
  const declared = await code(first.text.replace(/^\/\*\*[^]*?\*\/\n/, ''))
  const shown = declared.split('\n').length > longest ? folded(declared) : declared
  const parts = [`### ${title}`, words.trim(), shown, example?.trim() ?? '']
  return `${parts.filter((each) => each !== '').join('\n\n')}\n`
}

/** Lines of a declaration that is shown without being asked for. */
const longest = 80

const folded = (text: string): string =>
  `<details><summary>${text.split('\n').length - 2} lines</summary>\n\n${text}\n</details>`

async function code(text: string): Promise<string> {
  const config = { parser: 'typescript', semi: false, singleQuote: true, printWidth: 110 }
  const plain = await format(text.replaceAll(/^(?=(?:function|class|const) )/gm, 'declare '), config)
  return `\`\`\`ts\n${plain.replaceAll(/^declare /gm, '').trimEnd()}\n\`\`\`\n`.trimEnd()
}
