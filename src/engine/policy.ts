/**
 * The hinge between learning and tensors: `rl` receives a `Policy`, it never makes one. The ONNX Runtime
 * implementation is `runtime/ortPolicy.ts`; tests of `rl` use a thirty-line fake.
 *
 * Per-token arrays live in the shifted frame: a sequence of L tokens has L−1 entries, entry t is the prediction of
 * token t+1. Entries outside the action mask are 0 and never influence a result.
 */
import type { RandomStream } from '#shared/random.ts'

/** The adapters that share one frozen base. */
export type AdapterRole = 'actor' | 'reference' | 'critic'

/** Weights that answer: the frozen base alone, or the base with one of the adapters. */
export type PolicyRole = 'base' | AdapterRole

/**
 * Experts that the sampler's routers chose, for the tokens from the first on. Learning over the same ones: Ma et al. 2025,
 * arXiv:2510.11370.
 */
export interface Routes {
  /** Choices of a token: the k of each layer with experts, one layer after the other. */
  readonly width: number
  /** [tokens · width] */
  readonly experts: Uint16Array
}

/** A row to score or learn from. */
export interface TokenSequence {
  /** [L] prompt, completions and feedback of one trajectory. */
  readonly ids: Int32Array
  /** [L−1] 1 where ids[t+1] was chosen by the policy; only there is the head computed. */
  readonly actionMask: Uint8Array
  /** Read by a policy that replays; tokens without any go through the experts that its own routers choose. */
  readonly routes?: Routes
  /** [(L−1)·K] ids of K further tokens of each prediction, whose log-probabilities are wanted too. */
  readonly alternatives?: Int32Array
}

/** K tokens of each prediction besides the one that stands there, [(L−1)·K] each. */
export interface Alternatives {
  readonly ids: Int32Array
  readonly logprobs: Float64Array
}

/**
 * Outputs of the heads for one sequence; every array is [L−1], natural log, nats. A score by the critic has values
 * alone: its log-probabilities and entropies are 0, because the product with the vocabulary is not computed.
 */
export interface Heads {
  /** log-probability of ids[t+1] under softmax(logits / temperature). */
  readonly logprobs: Float64Array
  /** Entropy of softmax(logits / temperature). */
  readonly entropies: Float64Array
  /** Value of the state before token t+1; only from the critic, null from the others. */
  readonly values: Float64Array | null
  /** The actor's decisions while learning, where the model has experts; absent otherwise. */
  readonly routers?: RouterUse
  /** Tokens that the sequence has, or the likeliest if a score was asked for them; absent otherwise. */
  readonly alternatives?: Alternatives
}

/** Sums over the decisions of routers: one in each layer with experts for each token that leads to a prediction. */
export interface RouterUse {
  readonly decisions: number
  /** [E] decisions that chose an expert. */
  readonly chosen: Float64Array
  /** [E] sum of an expert's shares in the softmax over all. */
  readonly shares: Float64Array
}

/** ∂loss/∂head of each token of one sequence, [L−1]; null where the loss does not touch that head. */
export interface LossCoefficients {
  readonly logprobs: Float64Array
  readonly entropies: Float64Array | null
  readonly values: Float64Array | null
  /** [(L−1)·K] of the log-probabilities of the sequence's alternatives. */
  readonly alternatives?: Float64Array | null
}

export interface ScoreOptions<Role = PolicyRole> {
  readonly role: Role
  readonly temperature: number
  /** K: the likeliest tokens of each prediction are wanted, the likeliest first. */
  readonly likeliest?: number
  readonly signal?: AbortSignal
}

/** Another model that scores as the reference; errors are those of the model or of the server that holds it. */
export interface Teacher extends Disposable {
  score(sequences: readonly TokenSequence[], options: ScoreOptions<'base'>): Promise<Heads[]>
}

export interface AccumulateOptions {
  readonly temperature: number
  /** True when the loss has an entropy term: its gradient costs one more head multiplication. */
  readonly entropyGradient: boolean
  /** False: the loss has no value term, so a critic is not run and `Heads.values` is null. True if absent. */
  readonly values?: boolean
  readonly signal?: AbortSignal
}

/** Order and meaning of the filters: Hugging Face's (repetition penalty, minimum length, temperature, top-k, top-p, min-p). */
export interface SamplingOptions {
  /** Takes the most probable token at every step; the filters are then irrelevant. */
  readonly greedy: boolean
  readonly temperature: number
  /** 0 = off. */
  readonly topK: number
  /** 1 = off. */
  readonly topP: number
  /** 0 = off. */
  readonly minP: number
  /** 1 = off. */
  readonly repetitionPenalty: number
  readonly minNewTokens: number
  readonly maxNewTokens: number
  /** Generation ends after any of these ids; the id is kept. */
  readonly stopIds: readonly number[]
  /** Generation ends when the decoded completion contains any of these. */
  readonly stopStrings: readonly string[]
  /** Number of most probable ids reported beside each chosen one; 0 if absent. */
  readonly topLogprobs?: number
}

/** Sampling from the distribution of the model itself: every filter is off. */
export const unfiltered = {
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  stopIds: [],
  stopStrings: [],
} satisfies Omit<SamplingOptions, 'maxNewTokens'>

/** One prompt and the streams of its samples; the prompt is computed once however many there are. */
export interface GenerationRequest {
  readonly promptIds: Int32Array
  /** One stream per sample; token i of the completion uses position i. */
  readonly streams: readonly RandomStream[]
  /** Sampling of its completions; that of the options if absent. */
  readonly sampling?: SamplingOptions
  /** Aborts the request: completions that are not finished are dropped, and their rows are free after the next pass. */
  readonly signal?: AbortSignal
}

/** An id with its log-probability, as in `Completion`. */
export interface TokenLogprob {
  readonly id: number
  readonly logprob: number
}

/** An id as soon as it is chosen; places as in `Completion`. */
export interface ChosenToken extends TokenLogprob {
  readonly request: number
  readonly sample: number
  /** The most probable ids at its place, most probable first; as many as its sampling asks for. */
  readonly top: readonly TokenLogprob[]
}

export type StopReason = 'stop-id' | 'stop-string' | 'length'

export interface Completion {
  /** Index into the requests. */
  readonly request: number
  /** Index into that request's streams. */
  readonly sample: number
  /** Generated ids only, a stop id included. */
  readonly ids: Int32Array
  /** log-probability of each generated id under the unfiltered softmax(logits / temperature) (temperature 1 if greedy). */
  readonly logprobs: Float64Array
  readonly stopReason: StopReason
  /** Experts of prompt and ids but the last, which leads to none; only of a policy that replays them. */
  readonly routes?: Routes
}

export interface GenerateOptions<Role = PolicyRole> {
  readonly role: Role
  readonly sampling: SamplingOptions
  /** Needed for stop strings: text of the generated ids. */
  readonly decode?: (ids: readonly number[]) => string
  /** Called with every chosen id as soon as it is known. */
  readonly onToken?: (token: ChosenToken) => void
  readonly signal?: AbortSignal
  /**
   * Called between passes for requests that join the others and are numbered after them; null means that no more will
   * come. `isIdle`: nothing is left to generate, so an answer without requests would achieve nothing.
   */
  readonly later?: (isIdle: boolean) => Promise<readonly GenerationRequest[] | null>
}

export interface UpdateOptions {
  /** Learning rate of each parameter group. */
  readonly learningRates: Readonly<Record<'actor' | 'critic', number>>
  /** L2 limit of each group's gradient; Infinity = off. */
  readonly maxGradNorm: number
}

/** L2 norm of each trained group's gradient before clipping. */
export type GradientNorms = Readonly<Partial<Record<'actor' | 'critic', number>>>

export interface UpdateResult {
  readonly gradNorms: GradientNorms
}

/** A policy with its parameters as they were, which generates while they change; it acts as the actor or the base. */
export interface PolicySnapshot extends Disposable {
  /** Generates like the policy; a log-probability that is missing is NaN. */
  generate(requests: readonly GenerationRequest[], options: GenerateOptions): AsyncGenerator<Completion>
}

export interface Policy {
  readonly vocabSize: number
  /** Longest prompt plus completion. */
  readonly contextLength: number
  /** Tokens that are learned from at once fastest here, in as many micro-batches as there are replicas. */
  readonly learningTokens: number
  /** Micro-batches that can be learned from at the same time. */
  readonly replicas: number
  /** Learning computes what sequences of a micro-batch have in common from their start only once; not with dropout. */
  readonly sharesPrefixes: boolean

  /** Yields completions as they finish, in any order. Continuous batching: finished rows leave, waiting ones enter. */
  generate(requests: readonly GenerationRequest[], options: GenerateOptions): AsyncGenerator<Completion>

  /**
   * Returns a snapshot of the current parameters, which must not change before it resolves. Absent: the policy cannot
   * generate while it learns.
   */
  snapshot?(): Promise<PolicySnapshot>

  /** Heads of every sequence, in order. No gradient. */
  score(sequences: readonly TokenSequence[], options: ScoreOptions): Promise<Heads[]>

  /**
   * One micro-batch. Those that are asked for together, without waiting, are worked on at the same time, as far as there
   * are replicas for them; their coefficients are then asked for in any order, and all settle when the last one ends.
   *
   * Forward, then `coefficients` sees the heads of all its sequences and answers ∂loss/∂head, then
   * backward; the parameter gradients add to those already accumulated. Log-probabilities and entropies are the actor's,
   * values those of the critic, if there is one. Rows with all-zero or null coefficients skip the backward pass. Returns the heads.
   */
  accumulate(
    sequences: readonly TokenSequence[],
    options: AccumulateOptions,
    coefficients: (heads: readonly Heads[]) => readonly LossCoefficients[],
  ): Promise<Heads[]>

  /** Notes for the run's log since the last call, such as that a device ran out of memory. */
  takeNotes?(): readonly string[]

  /** Returns the norms of the gradients accumulated since the last update; not finite where a gradient is not. */
  gradientNorms(): Promise<GradientNorms>

  /**
   * Clips each group, takes one AdamW step with the accumulated gradients, and clears them. The gradients must be
   * finite.
   */
  update(options: UpdateOptions): Promise<UpdateResult>

  /** Forgets accumulated gradients. */
  discardGradients(): void

  /** reference ← mix·actor + (1−mix)·reference. */
  refreshReference(mix: number): Promise<void>

  [Symbol.dispose](): void
}
