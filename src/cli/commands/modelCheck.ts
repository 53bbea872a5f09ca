import { blockPrecisions, type PrecisionEffect } from '#shared/precision.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { defineCommand } from '../command.ts'
import { choices, integer, text } from '../options.ts'
import { tableLines } from '../output.ts'

export const modelCheck = defineCommand({
  name: 'model check',
  summary: 'Measure what rounding a model’s matrices does to its log-probabilities',
  positionals: [{ name: 'MODEL', description: 'model folder, or a name of model list' }],
  options: {
    precision: choices(blockPrecisions, 'what the matrices are rounded to'),
    texts: text('F', 'UTF-8 file with a text in every line (default: eight short texts of several kinds)'),
    threads: integer('N', 'CPU threads (default: one per physical core)', { minimum: 1, maximum: 1024 }),
  },
  notes: () => [
    'Nats per token. mean and largest: |exact − rounded| on the texts; loss: by how much they became less likely;',
    'KL: of the rounded model from the exact one, on what it wrote itself; sampler: generating against learning.',
  ],
  async run({ options, positionals: [model = ''] }, { dataDirectory, output }) {
    const { openModelFolder } = await import('#host/models/modelFolder.ts')
    const { readTexts } = await import('#host/checks/precisionTexts.ts')
    const { checkPrecision } = await import('#host/checks/precisionCheck.ts')
    const { openText } = await import('#host/models/completing.ts')
    const { chooseDevice } = await import('#host/models/openModel.ts')
    const folder = openModelFolder(findModel(model, dataDirectory))
    const subject = {
      model: folder,
      tokenizer: openText(folder).tokenizer,
      texts: options.texts === undefined ? null : readTexts(options.texts),
      device: await chooseDevice({ kind: null, threads: options.threads ?? null }),
      cacheDirectory: dataFolders(dataDirectory).cache,
    }
    const effects: PrecisionEffect[] = []
    for (const precision of options.precision) {
      output.note(`${precision}: rounding and scoring`)
      effects.push(await checkPrecision({ ...subject, precision }))
    }
    output.json({ effects })
    const header = ['base', 'matrices', 'mean', 'largest', 'loss', 'KL', 'sampler']
    for (const line of tableLines(header, effects.map(row))) output.line(line)
  },
})

const row = ({ precision, roundedBytes, exactBytes, ...effect }: PrecisionEffect): string[] => [
  precision,
  `${(roundedBytes / 1e6).toFixed(1)} MB of ${(exactBytes / 1e6).toFixed(1)}`,
  ...[effect.mean, effect.largest, effect.loss, effect.divergence, effect.samplerGap].map((value) =>
    value.toFixed(5),
  ),
]
