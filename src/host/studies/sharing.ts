/**
 * Chooses how many trials of a study train at the same time: as many as cores and memory allow. The result does not
 * depend on it.
 */
import { noun, plural } from '#shared/plural.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { StudyKind } from '#shared/studies.ts'
import type { Wave } from '#rl/studies/trials.ts'
import { sizeWords } from '#host/jobs/calibration.ts'

/** Memory and time of a trial, as a calibration measured them. */
export interface TrialNeeds {
  /** Bytes allocated by its process. */
  readonly ownBytes: number
  /** Mapped from the files of weights and programs: once, for all processes. */
  readonly baseBytes: number
  readonly availableBytes: number
  /** Memory of a graphics card; null on the CPU, or where the driver does not tell. */
  readonly card: { readonly bytes: number; readonly freeBytes: number } | null
}

export interface SharingRequest {
  readonly kind: StudyKind
  readonly waves: readonly Wave[]
  readonly config: Pick<RunConfig, 'device'>
  readonly isCpu: boolean
  /** `parallel` of the file. */
  readonly given: number | null
  readonly cores: number
  readonly threads: number
  /** null: not measured yet. */
  readonly needs: TrialNeeds | null
}

export interface Sharing {
  readonly parallel: number
  /** Calculation, in words. */
  readonly words: string
  readonly warnings: readonly string[]
}

/** Trials that could train at the same time as far as cores go; what a wave has besides waits. */
export function coresAllow({ waves, config, isCpu, cores, threads }: SharingRequest): number {
  // A card computes; a process needs a core to feed it, and all of them only where the config says so.
  const each = isCpu ? threads : (config.device.threads ?? 1)
  return Math.min(widestOf(waves), Math.max(1, Math.floor(cores / each)))
}

const widestOf = (waves: readonly Wave[]): number => Math.max(1, ...waves.map(({ size }) => size))

/** Unless the file says how many: at least one. */
export function sharingOf(request: SharingRequest): Sharing {
  const { given, needs, isCpu } = request
  const byCores = coresAllow(request)
  const fitting = needs === null ? (isCpu ? Infinity : 1) : memoryAllows(needs, isCpu)
  const parallel = given ?? Math.max(1, Math.min(byCores, fitting))
  const words = [coreWords(request, parallel), ...(needs === null ? [] : memoryWords(needs, parallel))]
  return { parallel, words: words.join(' '), warnings: warningsOf(request, parallel) }
}

function memoryAllows({ ownBytes, baseBytes, availableBytes, card }: TrialNeeds, isCpu: boolean): number {
  const byMemory = Math.floor((availableBytes - baseBytes) / Math.max(ownBytes, 1))
  if (isCpu) return byMemory
  return card === null ? 1 : Math.min(byMemory, Math.floor(card.freeBytes / Math.max(card.bytes, 1)))
}

const trialNouns: Readonly<Record<StudyKind, string>> = {
  population: 'member',
  sweep: 'trial',
  seeds: 'run',
}

function coreWords(request: SharingRequest, parallel: number): string {
  const { kind, waves, config, given, isCpu, cores, threads } = request
  const widest = widestOf(waves)
  const isLone = widest === 1
  const who = isLone
    ? 'One trial after the other'
    : `${plural(widest, trialNouns[kind])}, ${parallel} at a time`
  const shared = `${plural(cores, 'core')} / ${plural(threads, 'thread')} each`
  if (given !== null) return `${who}, as \`parallel\` says${isCpu ? ` (${shared})` : ''}.`
  if (!isCpu) return `${who} on one graphics card.`
  const isAlone = parallel === 1 && widest > 1 && threads > 1 && config.device.threads === null
  return `${who}: ${shared}.${isAlone ? ' With fewer `device.threads`, several would train together.' : ''}`
}

function memoryWords({ ownBytes, baseBytes, availableBytes, card }: TrialNeeds, parallel: number): string[] {
  const sum = `${sizeWords(baseBytes)} of weights once + ${parallel} × ${sizeWords(ownBytes)}`
  const needed = sizeWords(baseBytes + parallel * ownBytes)
  return [
    `Memory: ${sum} = ${needed} of ${sizeWords(availableBytes)} free.`,
    ...(card === null
      ? []
      : [`On the card: ${parallel} × ${sizeWords(card.bytes)} of ${sizeWords(card.freeBytes)} free.`]),
  ]
}

function warningsOf(request: SharingRequest, parallel: number): string[] {
  const { kind, isCpu, cores, threads, needs } = request
  const isCrowded = isCpu && parallel > 1 && parallel * threads > cores
  const neededBytes = needs === null ? 0 : needs.baseBytes + parallel * needs.ownBytes
  const nouns = noun(parallel, trialNouns[kind])
  return [
    ...(isCrowded
      ? [
          `${parallel} ${nouns} with ${plural(threads, 'thread')} each share ${plural(cores, 'core')}: set \`device.threads\` to ${Math.max(1, Math.floor(cores / parallel))}, or they slow each other down.`,
        ]
      : []),
    ...(needs !== null && neededBytes > needs.availableBytes
      ? [
          `${parallel} ${nouns} at a time take about ${sizeWords(neededBytes)} of memory, but only ${sizeWords(needs.availableBytes)} are free: lower \`parallel\`, \`optimization.tokenBudget\` or \`rollout.groupSize\`.`,
        ]
      : []),
    ...(needs?.card && parallel * needs.card.bytes > needs.card.freeBytes
      ? [
          `${parallel} ${nouns} at a time take about ${sizeWords(parallel * needs.card.bytes)} on the graphics card, but only ${sizeWords(needs.card.freeBytes)} are free there.`,
        ]
      : []),
  ]
}
