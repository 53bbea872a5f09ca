/** Ratios and the markdown table. */
import { contestants } from './contestants.mjs'
import { median } from './median.mjs'

/** Each round's own figure over the peer's figure of the same round: { min, median, max } or null. */
export function ratioOf(rounds, ourName, peerName, field) {
  const ratios = rounds
    .map((round) => round[ourName]?.[field] / round[peerName]?.[field])
    .filter((ratio) => Number.isFinite(ratio))
  if (ratios.length === 0) return null
  return { min: Math.min(...ratios), median: median(ratios), max: Math.max(...ratios) }
}

const typical = (rounds, name, field) => {
  const values = rounds.map((round) => round[name]?.[field]).filter((value) => Number.isFinite(value))
  return values.length ? median(values) : null
}

const number = (value, digits = value < 100 ? 1 : 0) => (value === null ? '' : value.toFixed(digits))
const percent = (share) => (share === null ? '' : `${(share * 100).toFixed(0)} %`)
const megabytes = (bytes) => (bytes === null ? '' : `${(bytes / 1e6).toFixed(0)} MB`)
const spread = (ratio) =>
  ratio === null ? '–' : `**${ratio.median.toFixed(2)}** (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`

const table = (header, rows) =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

/** Seconds and ratios of whole steps. */
function stepRowsOf({ item, rounds }) {
  const tookPart = (name) => rounds.some((round) => round[name])
  const seconds = (name, field) => number(typical(rounds, name, field), 2)
  const what = `${item.prompts} × 8, ${item.promptTokens} + ${item.newTokens}`
  return Object.entries(contestants.step)
    .filter(([name]) => tookPart(name))
    .map(([name, { against = [] }]) => [
      ...[item.shape, `${item.threads}`, what, name],
      ...[seconds(name, 'secondsPerStep'), seconds(name, 'rolloutSeconds')],
      ...Object.keys(contestants.step)
        .filter((ours) => !contestants.step[ours].against)
        .map((ours) =>
          against.includes(ours) && tookPart(ours)
            ? spread(ratioOf(rounds, ours, name, 'stepsPerSecond'))
            : '',
        ),
      percent(typical(rounds, name, 'othersShare')),
    ])
}

function rowsOf({ item, rounds }) {
  const isTraining = item.kind === 'train'
  const what = isTraining ? `${item.rows}×${item.length}` : `${item.batch} × ${item.precision}`
  const memory = isTraining ? 'anonymousBytes' : 'processRssBytes'
  const rest = isTraining ? [memory, 'processRssBytes'] : [memory]
  const row = (name, ours) => {
    const figure = (field) => (ours === undefined || ours.isFirst ? typical(rounds, name, field) : null)
    const ratio = (field) => (ours === undefined ? '' : spread(ratioOf(rounds, ours.name, name, field)))
    return [
      ...[item.shape, `${item.threads}`, what, name, number(figure('tokensPerSecond'))],
      ...[ours?.name ?? '', ratio('tokensPerSecond')],
      ...(isTraining ? [] : [number(figure('prefillTokensPerSecond'))]),
      ...rest.map((field) => megabytes(figure(field))),
      ratio(memory),
    ]
  }
  const tookPart = (name) => rounds.some((round) => round[name])
  return Object.entries(contestants[item.kind])
    .filter(([name]) => tookPart(name))
    .flatMap(([name, { against = [] }]) => {
      if (against.length === 0) return [row(name)]
      return against.filter(tookPart).map((ours, index) => row(name, { name: ours, isFirst: index === 0 }))
    })
}

export function markdown({ machine, startedAt, results }) {
  const sections = [
    [
      'train',
      'Training: one step of LoRA rank 16 on every linear',
      'rows × tokens',
      ['own memory', 'process'],
    ],
    [
      'decode',
      'Decoding: 64 tokens after a prompt of 64, temperature 1, sampling included',
      'batch',
      ['prefill/s', 'process'],
    ],
  ]
  const lines = ['# Turnwise beside its peers', '', `${startedAt}. ${machine}`, '']
  lines.push(
    'Ratios are ours ÷ peer of the same round, median (least–most): above 1 is faster, for memory below 1 is less.',
  )
  lines.push(
    '“own memory” is the peak of anonymous memory while training, “process” the peak resident size with loading.',
  )
  for (const [kind, title, what, columns] of sections) {
    const rows = results.filter(({ item }) => item.kind === kind).flatMap(rowsOf)
    if (rows.length === 0) continue
    const header = ['shape', 'threads', what, '', 'tokens/s', 'against', 'ratio', ...columns, 'memory ratio']
    lines.push('', `## ${title}`, '', table(header, rows))
  }
  const steps = results.filter(({ item }) => item.kind === 'step').flatMap(stepRowsOf)
  if (steps.length > 0) {
    const header = ['shape', 'threads', 'completions, prompt + new tokens', '', 's/step', 'of it rollout']
    const ours = Object.keys(contestants.step).filter((name) => !contestants.step[name].against)
    lines.push(
      '',
      '## A whole step of GRPO: rollout, rewards, one update of LoRA rank 16 on every linear',
      '',
    )
    lines.push(table([...header, ...ours.map((name) => `${name} ÷ it`), 'others took'], steps))
  }
  return lines.join('\n') + '\n'
}
