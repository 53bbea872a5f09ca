/**
 * One process that reads variants of a reader's files and says on its standard output, line by line as JSON, how far it
 * is and what it found. Started by run.ts, which notices when it dies or says nothing more.
 */
import { mkdirSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { recordAllocations, watchAllocations } from './allocations.ts'
import type { FuzzReader, FuzzTarget } from './targets.ts'

export interface FuzzProblem {
  readonly reader: string
  readonly target: string
  readonly number: number
  /** What is wrong, in one sentence. */
  readonly sentence: string
  /** Where the variant was kept; empty where there was none yet. */
  readonly file: string
}

/** The case that begins: where its variant is written. */
export interface FuzzCase {
  readonly target: string
  readonly number: number
  readonly file: string
}

export type FuzzNews =
  | ({ readonly type: 'case' } & FuzzCase)
  | { readonly type: 'problem'; readonly problem: FuzzProblem }
  | { readonly type: 'report'; readonly report: FuzzReport }

export interface FuzzReport {
  /** Variants tried: those asked for, unless there were too many problems. */
  readonly cases: number
  /** Variants that are still files of their kind. */
  readonly read: number
  /** Variants refused with one sentence. */
  readonly refused: number
  readonly slowestMs: number
  /** Largest single allocation in bytes, and the largest share of what is allowed. */
  readonly largestBytes: number
  readonly largestShare: number
}

const slowMs = 2_000
const maxProblems = 20

interface FuzzOptions {
  readonly cases: number
  readonly seed: number
  /** Folder for the files that are read. */
  readonly folder: string
  /** Folder for variants that a reader did not survive. */
  readonly keep: string
}

/** At once, not when this process is idle: it may never be again. */
const say = (news: FuzzNews): void => void writeSync(1, `${JSON.stringify(news)}\n`)

async function fuzz(reader: FuzzReader, { cases, seed, folder, keep }: FuzzOptions): Promise<void> {
  const { openTargets } = await import('./targets.ts')
  const { mutate } = await import('./mutations.ts')
  const targets = await openTargets(reader, folder)
  const totals = { cases: 0, read: 0, refused: 0, slowestMs: 0, largestBytes: 0, largestShare: 0 }
  let problems = 0
  for (let number = 0; number < cases && problems < maxProblems; number++) {
    const target = targets[number % targets.length] as FuzzTarget
    const content = mutate(target.original, reader, { seed, number })
    // Beforehand: a case that ends this process is the one said last.
    say({ type: 'case', target: target.name, number, file: target.file })
    const outcome = await readOnce(reader, target, content)
    totals.cases++
    totals[outcome.kind]++
    totals.slowestMs = Math.max(totals.slowestMs, outcome.ms)
    totals.largestBytes = Math.max(totals.largestBytes, outcome.largestBytes)
    totals.largestShare = Math.max(totals.largestShare, outcome.share)
    if (outcome.sentence === null) continue
    problems++
    mkdirSync(keep, { recursive: true })
    const file = path.join(keep, `${reader.name}-${String(seed)}-${String(number)}`)
    writeFileSync(file, content)
    const { sentence } = outcome
    say({ type: 'problem', problem: { reader: reader.name, target: target.name, number, sentence, file } })
  }
  say({ type: 'report', report: totals })
}

interface Outcome {
  readonly kind: 'read' | 'refused'
  readonly ms: number
  readonly largestBytes: number
  /** Of what may be allocated. */
  readonly share: number
  /** What is wrong; null: nothing. */
  readonly sentence: string | null
}

async function readOnce(reader: FuzzReader, target: FuzzTarget, content: Buffer): Promise<Outcome> {
  writeFileSync(target.file, content)
  let failure: unknown = null
  const start = process.cpuUsage()
  const { largest, largestBytes } = await recordAllocations(async () => {
    try {
      await target.read()
    } catch (error) {
      failure = error
    }
  })
  const { user, system } = process.cpuUsage(start)
  writeFileSync(target.file, target.original)
  const ms = (user + system) / 1_000
  const share = largestBytes / (reader.allocation.perByte * content.length + reader.allocation.fixed)
  const faults = [
    ...(await faultsOf(failure)),
    ...(ms > slowMs ? [`It took ${ms.toFixed(0)} ms.`] : []),
    ...(share > 1
      ? [`${largest} of ${String(largestBytes)} bytes for a file of ${String(content.length)}.`]
      : []),
  ]
  return { kind: failure === null ? 'read' : 'refused', ms, largestBytes, share, sentence: faults[0] ?? null }
}

/** A file may be refused in one sentence; anything else that is thrown is a fault of the reader. */
async function faultsOf(failure: unknown): Promise<string[]> {
  if (failure === null) return []
  const { AppError } = await import('#shared/errors.ts')
  if (!(failure instanceof AppError)) return [`It threw ${describe(failure)}.`]
  return isOneSentence(failure.message)
    ? []
    : [`It was refused in no sentence: ${failure.message.slice(0, 300)}`]
}

const isOneSentence = (message: string): boolean => /^[^\n]{10,900}\.$/.test(message)

const describe = (failure: unknown): string =>
  failure instanceof Error ? `${failure.name}: ${failure.message.slice(0, 300)}` : String(failure)

async function main(): Promise<void> {
  watchAllocations()
  const { values } = parseArgs({
    options: {
      readers: { type: 'string', default: path.join(import.meta.dirname, 'readers.ts') },
      reader: { type: 'string', default: '' },
      cases: { type: 'string', default: '' },
      seed: { type: 'string', default: '1' },
      folder: { type: 'string', default: '.' },
      keep: { type: 'string', default: '.' },
    },
  })
  const module = (await import(pathToFileURL(values.readers).href)) as {
    readonly fuzzReaders: readonly FuzzReader[]
  }
  const reader = module.fuzzReaders.find(({ name }) => name === values.reader)
  if (!reader) throw new Error(`There is no reader called ${values.reader}.`)
  const { folder, keep } = values
  await fuzz(reader, { cases: Number(values.cases), seed: Number(values.seed), folder, keep })
}

if (import.meta.main) await main()
