/** llama.cpp itself, to compare with. The library comes prebuilt for Linux; elsewhere it may be missing. */
import { getLlama, type Llama, LlamaLogLevel, type Token } from 'node-llama-cpp'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { policyReader } from '#host/export/parityReaders.ts'

/** Or why it cannot be loaded. */
export async function loadLlama(): Promise<Llama | string> {
  try {
    const options = { gpu: false, build: 'never', skipDownload: true, progressLogs: false } as const
    return await getLlama({ ...options, logLevel: LlamaLogLevel.error, maxThreads: 1 })
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

interface Continuing {
  /** Paths of GGUF files. */
  readonly base: string
  readonly adapter: string | null
  readonly prompts: readonly Int32Array[]
  readonly count: number
}

/** Greedy continuations, with f32 keys and values. */
export async function continuationsOf(
  llama: Llama,
  { base, adapter, prompts, count }: Continuing,
): Promise<number[][]> {
  const model = await llama.loadModel({ modelPath: base, gpuLayers: 0 })
  const context = await model.createContext({
    contextSize: 128,
    experimentalKvCacheKeyType: 'F32',
    experimentalKvCacheValueType: 'F32',
    ...(adapter === null ? {} : { lora: { adapters: [{ filePath: adapter, scale: 1 }] } }),
  })
  const continued: number[][] = []
  for (const prompt of prompts) {
    const sequence = context.getSequence()
    const ids: number[] = []
    const options = { temperature: 0, yieldEogToken: true }
    for await (const id of sequence.evaluate([...prompt] as Token[], options)) {
      if (ids.push(id) === count) break
    }
    continued.push(ids)
    void sequence.dispose()
  }
  await context.dispose()
  await model.dispose()
  return continued
}

/** Log-probabilities of each token behind the first of rows, with f32 keys and values. */
export async function logprobsOf(
  llama: Llama,
  { base, rows }: { readonly base: string; readonly rows: readonly Int32Array[] },
): Promise<number[][]> {
  const model = await llama.loadModel({ modelPath: base, gpuLayers: 0 })
  const options = {
    experimentalKvCacheKeyType: 'F32',
    experimentalKvCacheValueType: 'F32',
    flashAttention: false,
  } as const
  const context = await model.createContext({ contextSize: 128, ...options })
  const sequence = context.getSequence()
  const found: number[][] = []
  for (const row of rows) {
    const asked = [...row].map((id) => [id as Token, { generateNext: { logits: true } }] as const)
    const outputs = await sequence.controlledEvaluate(asked.map(([id, next]) => [id, next]))
    found.push(
      [...row.subarray(1)].map((id, at) => {
        const logits = outputs[at]?.next.logits
        if (!logits) throw new Error('Expected the logits of each position.')
        const total = [...logits.values()].reduce((sum, logit) => sum + Math.exp(logit), 0)
        return logits.get(id as Token)! - Math.log(total)
      }),
    )
    await sequence.clearHistory()
  }
  await context.dispose()
  await model.dispose()
  return found
}

/**
 * How many tokens two greedy continuations share, and by how many nats the first that differs is less likely here; 0 where
 * none does.
 */
export async function compare(
  policy: OrtPolicy,
  prompt: Int32Array,
  ours: readonly number[],
  theirs: readonly number[],
) {
  const shared = ours.findIndex((id, at) => id !== theirs[at])
  if (shared === -1) return { shared: ours.length, gap: 0 }
  const prefix = [...prompt, ...ours.slice(0, shared)]
  const rows = [ours[shared]!, theirs[shared]!].map((id) => Int32Array.from([...prefix, id]))
  const [best, other] = await policyReader(policy, 'base').score(rows)
  return { shared, gap: best!.at(-1)! - other!.at(-1)! }
}
