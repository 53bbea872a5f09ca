/**
 * Makes everything under resources/starter and resources/demo from seeds:
 *
 *   node scripts/starter/make.ts data     demo data set, tokenizer, config: seconds
 *   node scripts/starter/make.ts model    the same, then pretrains the weights: about twenty minutes on one core
 */
import { join } from 'node:path'
import { readModelConfig } from '#engine/models/registry.ts'
import { FullTrainer } from './fullTrainer.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { f32ToWrite, writeSafetensors } from '#host/files/safetensors.ts'
import { conversations, makeDemoData, tokenSequence, type DemoData, type DemoRow } from './corpus.ts'
import { learningRate, pretraining, rowCounts, seeds, starterConfig } from './recipe.ts'
import { makeTokenizer, type StarterTokenizer } from './starterTokenizer.ts'

const resources = join(import.meta.dirname, '../../resources')
const folders = { starter: join(resources, 'starter'), demo: join(resources, 'demo') }
const stepsBetweenReports = 250

const jsonText = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
const jsonLines = (rows: readonly DemoRow[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

interface Prepared {
  readonly demo: DemoData
  readonly starter: StarterTokenizer
  /** config.json */
  readonly config: object
}

/** Writes the demo data set and all of the model but its weights. */
function writeData(): Prepared {
  const demo = makeDemoData(seeds.demo, rowCounts)
  const starter = makeTokenizer(seeds.tokenizer, demo.heldoutContents)
  const { vocabSize, special } = starter.tokenizer
  if (special.eos === null || special.pad === null)
    throw new Error('The starter tokenizer lost its special tokens.')
  const ids = { eos: special.eos, pad: special.pad }
  const config = starterConfig(vocabSize, ids)
  const generation = {
    do_sample: true,
    temperature: 1,
    max_new_tokens: 16,
    eos_token_id: ids.eos,
    pad_token_id: ids.pad,
  }
  for (const folder of Object.values(folders)) makeFolder(folder)
  writeFileAtomic(join(folders.demo, 'train.jsonl'), jsonLines(demo.train))
  writeFileAtomic(join(folders.demo, 'heldout.jsonl'), jsonLines(demo.heldout))
  writeFileAtomic(join(folders.starter, 'tokenizer.json'), jsonText(starter.json))
  writeFileAtomic(join(folders.starter, 'tokenizer_config.json'), jsonText(starter.config))
  writeFileAtomic(join(folders.starter, 'config.json'), jsonText(config))
  writeFileAtomic(join(folders.starter, 'generation_config.json'), jsonText(generation))
  return { demo, starter, config }
}

/** Pretrains the weights on the corpus and writes them beside the rest. */
async function makeModel({ demo, starter, config }: Prepared): Promise<void> {
  const { steps, conversationsPerStep, initializerRange, maxGradNorm, optimizer } = pretraining
  using trainer = await FullTrainer.create({
    config: readModelConfig(config, 'The starter config'),
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
    seed: seeds.weights,
    initializerRange,
  })
  const corpus = conversations(seeds.corpus, demo.heldoutContents)
  let recentLoss = 0
  for (let step = 0; step < steps; step++) {
    const batch = Array.from({ length: conversationsPerStep }, () =>
      tokenSequence(starter.encoder, corpus.next().value),
    )
    recentLoss += await trainer.step(batch, { learningRate: learningRate(step), maxGradNorm, optimizer })
    if ((step + 1) % stepsBetweenReports !== 0) continue
    console.log(`step ${step + 1} of ${steps}: loss ${(recentLoss / stepsBetweenReports).toFixed(4)}`)
    recentLoss = 0
    // Every time anew: an interrupted run leaves weights to look at.
    const weights = trainer.tensors().map(f32ToWrite)
    await writeSafetensors(join(folders.starter, 'model.safetensors'), weights, {
      metadata: { format: 'pt' },
    })
  }
}

const [command] = process.argv.slice(2)
if (command !== 'data' && command !== 'model') throw new Error('Say what to make: data or model.')
const prepared = writeData()
if (command === 'model') await makeModel(prepared)
