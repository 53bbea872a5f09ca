/** A small checkpoint whose every number follows from its step, for tests and the processes they kill. */
import type { CheckpointState } from '#host/workFolder/checkpointState.ts'
import type { Checkpoint } from '#host/models/checkpoints.ts'

const numbers = (length: number, seed: number) =>
  Float32Array.from({ length }, (_, i) => Math.sin(seed + i) / 3)

export interface ExampleOptions {
  /** Becomes the held-out reward; null: not measured. */
  readonly reward?: number | null
  readonly metrics?: CheckpointState['metrics']
  /** Input width of the adapted layer: the size of the files. */
  readonly width?: number
}

export function exampleCheckpoint(
  step: number,
  { reward = null, metrics = {}, width = 4 }: ExampleOptions = {},
): Checkpoint {
  const tensor = (name: string, shape: number[], seed: number) => ({
    name: `model.layers.0.self_attn.q_proj.lora_${name}`,
    shape,
    data: numbers((shape[0] ?? 0) * (shape[1] ?? 0), seed),
  })
  const adapter = (seed: number) => [tensor('A', [2, width], seed), tensor('B', [6, 2], seed + 0.5)]
  const parameters = 2 * width + 12
  return {
    trainer: {
      step,
      stage: 0,
      promptsDrawn: 8 * step,
      updates: 2 * step,
      tokens: 1000 * step,
      updateHistory: { actor: [Math.PI / step, 1e-17 * step], critic: [], skipped: step },
    },
    events: 3 * step,
    reward,
    metrics: reward === null ? metrics : { ...metrics, eval_reward: reward },
    lora: { rank: 2, alpha: 4, rsLora: true, targets: ['q_proj'] },
    baseModel: 'some/model',
    actor: adapter(step),
    reference: adapter(-step),
    critic: null,
    optimizer: {
      step: 2 * step,
      buffers: { firstMoments: numbers(parameters, 7 + step), secondMoments: numbers(parameters, 8 + step) },
    },
    model: null,
    engine: null,
  }
}
