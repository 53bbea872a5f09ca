/** Runs a probe on a temporary tiny decoder with random weights. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Device } from '#shared/device.ts'
import { linearNames } from '#engine/models/config.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { algorithmById, algorithms } from '#rl/algorithms/registry.ts'
import { probeByName, probes } from '#rl/environments/probes/registry.ts'
import { type ProbeResult, runProbe, trainingOf } from '#rl/training/probe.ts'
import { type ModelFolder, openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { stopIdsOf } from '#host/models/completing.ts'

export interface ProbeRun {
  readonly probe: string
  readonly algorithm: string
  readonly seed: number
  readonly device: Device
  /** The probe's own budget if absent. */
  readonly steps?: number
  readonly onStep?: (step: number, steps: number, reward: number) => void
}

export interface ProbeReport extends ProbeResult {
  readonly probe: string
  readonly algorithm: string
  readonly algorithmTitle: string
  readonly seed: number
  /** Time from making the model to the last answer. */
  readonly seconds: number
}

/** Errors: AppError 'usage/invalid' for a probe that is not there or does not fit; 'config/invalid'; 'file/…'. */
export async function probeAlgorithm(run: ProbeRun): Promise<ProbeReport> {
  const { seed, device, steps, onStep } = run
  const probe = probeByName(run.probe)
  const algorithm = algorithmById(run.algorithm)
  const began = performance.now()
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-probe-'))
  try {
    await writeRandomModel(directory, modelShapes.probe, seed, 'F32')
    const folder = openModelFolder(directory)
    const text = loadTokenizer(directory)
    using policy = await openProbePolicy(folder, {
      seed,
      device,
      alpha: trainingOf(probe, algorithm).alpha,
      critic: algorithm.configure({}).needs.values,
    })
    const given = { ...(steps === undefined ? {} : { steps }), ...(onStep === undefined ? {} : { onStep }) }
    const result = await runProbe({
      probe,
      algorithm,
      policy,
      seed,
      tokenizer: text.tokenizer,
      stopIds: stopIdsOf(folder, text),
      ...given,
    })
    return {
      probe: probe.name,
      algorithm: algorithm.id,
      algorithmTitle: algorithm.title,
      seed,
      ...result,
      seconds: (performance.now() - began) / 1000,
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Algorithms that learn by trying. */
export const probeAlgorithms: readonly string[] = algorithms
  .filter((algorithm) => algorithm.experience === 'rollout' && !algorithm.configure({}).needs.teacher)
  .map(({ id }) => id)

export const probeNames: readonly string[] = probes.map(({ name }) => name)

export interface ProbeMatrix {
  readonly probes: readonly string[]
  readonly algorithms: readonly string[]
  readonly seeds: readonly number[]
  readonly device: Device
}

/**
 * Runs every probe with every algorithm it fits and every seed; yields reports as they are made. Errors: as
 * `probeAlgorithm`.
 */
export async function* probeMatrix(matrix: ProbeMatrix): AsyncGenerator<ProbeReport> {
  const pairs = matrix.probes.flatMap((probe) => matrix.algorithms.map((algorithm) => ({ probe, algorithm })))
  for (const pair of pairs.filter(isFitting)) {
    for (const seed of matrix.seeds) yield probeAlgorithm({ ...pair, seed, device: matrix.device })
  }
}

/** Returns false for a probe that measures the critic with an algorithm that has none. */
const isFitting = ({ probe, algorithm }: Pick<ProbeRun, 'probe' | 'algorithm'>): boolean =>
  probeByName(probe).measure !== 'value' || algorithmById(algorithm).configure({}).needs.values

interface ProbePolicy extends Pick<ProbeRun, 'seed' | 'device'> {
  readonly alpha: number
  readonly critic: boolean
}

function openProbePolicy(
  source: ModelFolder,
  { seed, device, alpha, critic }: ProbePolicy,
): Promise<OrtPolicy> {
  return createOrtPolicy({
    source,
    device,
    lora: { rank: 8, alpha, rsLora: false, targets: linearNames },
    loraSeed: seed,
    critic,
    rolloutPrecision: 'f32',
    activations: 'save',
    optimizer: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 },
    maxRows: 256,
  })
}
