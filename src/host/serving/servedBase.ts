/** A base model that answers many requests at once, each with the adapter it names; adapters are opened when first asked for. */
import { statSync } from 'node:fs'
import { AppError, invalidData } from '#shared/errors.ts'
import { randomStream } from '#shared/random.ts'
import type { HeldPrecision } from '#shared/precision.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import type { Alternatives, ChosenToken, Completion, SamplingOptions, TokenLogprob } from '#engine/policy.ts'
import type { AnsweringRole, NamedAdapter } from '#engine/runtime/adapterParameters.ts'
import { int8Form } from '#engine/runtime/device.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { offeredTools } from '#engine/text/toolCalls.ts'
import { adapterFiles, adapterFolder } from '#host/adapters/adapterFiles.ts'
import type { Adapter } from '#host/adapters/peft.ts'
import { fitsIn, underConfig, unionOf } from '#host/adapters/peftPatterns.ts'
import { autoDevice } from '#host/devices/deviceChoice.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import { encodeQuestion, openText, samplingFor, stopIdsOf } from '#host/models/completing.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { chooseDevice, noAdapter, openAdapter } from '#host/models/openModel.ts'
import type { LoadedTokenizer } from '#host/models/tokenizerFolder.ts'
import type {
  CompletionNews,
  PromptToken,
  ServedRequest,
  ServedToken,
  ServingSetup,
} from './servedProcess.ts'
import { Batches } from './batches.ts'
import { CalledText, CompletionText, contextTokens, tokenText } from '#host/models/completionText.ts'

/** Number of adapters that stay open; the one whose last request is oldest makes room. */
const maxAdapters = 16

interface OpenAdapter {
  readonly role: NamedAdapter
  readonly adapter: Adapter
  /** Changes with the file. */
  readonly stamp: string
}

export class ServedBase {
  readonly #setup: ServingSetup
  readonly #folder: ModelFolder
  readonly #text: LoadedTokenizer
  /** Adapters by folder, ordered by the time of their last request. */
  readonly #adapters = new Map<string, OpenAdapter>()
  #lora: LoraConfig
  #policy: OrtPolicy
  #batches: Batches<AnsweringRole>
  #opened = 0
  /** One adapter is opened after the other. */
  #opening: Promise<unknown> = Promise.resolve()

  private constructor(setup: ServingSetup, folder: ModelFolder, policy: OrtPolicy) {
    this.#setup = setup
    this.#folder = folder
    this.#text = openText(folder)
    this.#lora = noAdapter
    this.#policy = policy
    this.#batches = this.#newBatches()
  }

  /** Errors: as `openModel`. */
  static async open(setup: ServingSetup): Promise<ServedBase> {
    const folder = openModelFolder(setup.directory, setup)
    return new ServedBase(setup, folder, await openPolicy(setup, folder, noAdapter))
  }

  get contextLength(): number {
    return this.#policy.contextLength
  }

  /**
   * Completes a request; resolves when all completions are reported, or the signal aborts. Errors: those of the
   * request, of its adapter and of generating.
   */
  async complete(
    request: ServedRequest,
    signal: AbortSignal,
    say: (news: CompletionNews) => void,
  ): Promise<void> {
    const prompts = request.prompts.map((prompt) =>
      'ids' in prompt ? this.#checkedIds(prompt.ids) : encodeQuestion(prompt, this.#text, new Date()),
    )
    const stopIds = stopIdsOf(this.#folder, this.#text)
    const streams = Array.from({ length: request.samples }, (_, sample) => randomStream(request.seed, sample))
    const requests = prompts.map((promptIds) => {
      const sampling = samplingFor(request, promptIds.length, this.contextLength, stopIds)
      return { promptIds, streams, sampling, signal }
    })
    await this.#start(request.adapter, async (role) => {
      if (signal.aborted) return
      const scores = await this.#score(prompts, { role, signal, likeliest: request.promptLogprobs ?? null })
      say({ type: 'prompts', ids: prompts, ...(scores === null ? {} : { scores }) })
      await Promise.all(
        requests.map((wanted, prompt) =>
          this.#batches.generate(role, wanted, this.#listener(prompt, wanted, request, say)),
        ),
      )
    })
  }

  #checkedIds(ids: readonly number[] | Int32Array): Int32Array {
    const { vocabSize } = this.#folder.config
    const wrong = ids.find((id) => id >= vocabSize)
    if (wrong === undefined) return Int32Array.from(ids)
    throw invalidData(
      `The prompt has the token ${wrong}, but the model's vocabulary has ${vocabSize} tokens.`,
    )
  }

  /** null where none is wanted. */
  async #score(
    prompts: readonly Int32Array[],
    {
      likeliest,
      ...options
    }: { readonly role: AnsweringRole; readonly signal: AbortSignal; readonly likeliest: number | null },
  ): Promise<PromptToken[][] | null> {
    if (likeliest === null) return null
    const sequences = prompts.map((ids) => ({ ids, actionMask: new Uint8Array(ids.length - 1).fill(1) }))
    const heads = await this.#policy.score(sequences, { ...options, temperature: 1, likeliest })
    return prompts.map((ids, prompt) =>
      Array.from(ids.subarray(1), (id, t) => {
        const before = ids.subarray(Math.max(0, t + 1 - contextTokens), t + 1)
        const { logprobs, alternatives } = heads[prompt] ?? { logprobs: [] }
        const text = tokenText(this.#text.tokenizer, [...before], id)
        const top = alternatives ? tokensAt(alternatives, t, ids) : []
        return { id, logprob: logprobs[t] ?? NaN, text, top }
      }),
    )
  }

  #listener(
    prompt: number,
    { promptIds, sampling: { stopIds } }: { promptIds: Int32Array; sampling: SamplingOptions },
    request: ServedRequest,
    say: (news: CompletionNews) => void,
  ) {
    const { tokenizer } = this.#text
    const { isStreamed, withTokens } = request
    const samples = Array.from({ length: request.samples }, () => ({
      before: [...promptIds.subarray(-contextTokens)],
      text: this.#textOf(request, prompt, { promptIds, stopIds }),
      piece: { text: '', tokens: [] as ServedToken[] },
    }))
    const sampleAt = (sample: number) => {
      const own = samples[sample]
      if (own === undefined) throw new Error('Expected a sample that was asked for.')
      return own
    }
    return {
      onToken: (token: ChosenToken) => {
        const own = sampleAt(token.sample)
        own.piece.text += own.text.push(token.id)
        if (withTokens) own.piece.tokens.push(describeToken(tokenizer, own.before, token))
        own.before.push(token.id)
        if (!isStreamed || (own.piece.text === '' && own.piece.tokens.length === 0)) return
        say({ type: 'piece', prompt, sample: token.sample, ...own.piece, end: null })
        own.piece = { text: '', tokens: [] }
      },
      onCompletion: ({ sample, stopReason, ids }: Completion) => {
        const own = sampleAt(sample)
        const { text, tokens } = own.piece
        const rest = own.text.finish()
        const { text: last, calls } = typeof rest === 'string' ? { text: rest, calls: [] } : rest
        const end = { stopReason, tokens: ids.length, ...(calls.length === 0 ? {} : { calls }) }
        say({ type: 'piece', prompt, sample, text: text + last, tokens, end })
      },
    }
  }

  #textOf(
    { prompts, sampling: { stopStrings } }: ServedRequest,
    prompt: number,
    { promptIds, stopIds }: { promptIds: Int32Array; stopIds: readonly number[] },
  ): CompletionText | CalledText {
    const { tokenizer, chatTemplate } = this.#text
    const asked = prompts[prompt]
    const tools = asked !== undefined && 'tools' in asked ? asked.tools : undefined
    if (tools === undefined) return new CompletionText(tokenizer, stopStrings)
    const promptEnd = tokenizer.decode(promptIds.subarray(-contextTokens), { skipSpecialTokens: false })
    return new CalledText(tokenizer, { stopStrings, stopIds }, offeredTools(chatTemplate, tools, promptEnd))
  }

  /** One after the other, so that the base is never opened again between finding an adapter and generating with it. */
  #start(adapter: string | null, generate: (role: AnsweringRole) => Promise<unknown>): Promise<unknown> {
    const started = this.#opening.then(async () => {
      const role = adapter === null ? 'base' : await this.#openAdapter(adapterFolder(adapter))
      return { done: generate(role) }
    })
    this.#opening = started.catch(() => undefined)
    return started.then(({ done }) => done)
  }

  async #openAdapter(directory: string): Promise<AnsweringRole> {
    const stamp = stampOf(adapterFiles(directory).tensorsPath)
    const known = this.#adapters.get(directory)
    if (known?.stamp === stamp) {
      this.#adapters.delete(directory)
      this.#adapters.set(directory, known)
      return known.role
    }
    const adapter = openAdapter(directory, this.#folder)
    this.#requireBase(adapter, directory)
    const [oldest] = this.#adapters.keys()
    if (known !== undefined) await this.#forget(directory)
    else if (oldest !== undefined && this.#adapters.size >= maxAdapters) await this.#forget(oldest)
    await this.#makeRoom(adapter.config)
    const opened = { role: `named ${String(this.#opened++)}` as const, adapter, stamp }
    this.#adapters.set(directory, opened)
    this.#add(opened)
    return opened.role
  }

  async #forget(directory: string): Promise<void> {
    await this.#batches.drained()
    const known = this.#adapters.get(directory)
    this.#adapters.delete(directory)
    if (known !== undefined) this.#policy.removeAdapter(known.role)
  }

  /** A base that was chosen is for everyone; otherwise adapters need the one they were trained on. */
  #requireBase({ base }: Adapter, given: string): void {
    if (this.#setup.base !== null || base === undefined) return
    throw new AppError(
      'adapter/invalid',
      `${given} was trained on a base in ${base}, and this one is in f32.`,
      `Start the server with the base in ${base}.`,
    )
  }

  /**
   * Makes room for an adapter of a higher rank, or of other matrices: opens the base again once nothing is being
   * generated.
   */
  async #makeRoom(config: LoraConfig): Promise<void> {
    if (fitsIn(config, this.#lora, this.#folder.config)) return
    await this.#batches.drained()
    this.#lora = this.#lora === noAdapter ? config : unionOf([this.#lora, config])
    this.#policy[Symbol.dispose]()
    this.#policy = await openPolicy(this.#setup, this.#folder, this.#lora)
    this.#batches = this.#newBatches()
    for (const other of this.#adapters.values()) this.#add(other)
  }

  #add({ role, adapter }: OpenAdapter): void {
    this.#policy.addAdapter(role, underConfig(adapter, this.#lora, this.#folder.config))
  }

  #newBatches(): Batches<AnsweringRole> {
    const { tokenizer } = this.#text
    return new Batches(this.#policy, (ids) => tokenizer.decode(ids, { skipSpecialTokens: true }))
  }
}

async function openPolicy(setup: ServingSetup, folder: ModelFolder, lora: LoraConfig): Promise<OrtPolicy> {
  const base: HeldPrecision = setup.base ?? 'f32'
  const { cacheDirectory } = setup
  const { kind, threads } = setup.device
  const auto = () => autoDevice({ model: folder.config, base, deviceId: 0, cacheDirectory }).kind
  const device = await chooseDevice({ kind: kind === 'auto' ? auto() : kind, threads })
  const precisions = { base, rollout: setup.precision, int8Form: int8Form(device) }
  return createOrtPolicy({
    source: await asPolicySource(folder, precisions, cacheDirectory),
    device,
    lora,
    loraSeed: 0,
    rolloutPrecision: setup.precision,
    activations: 'recompute',
    maxRows: setup.maxRows,
    further: ['likeliest'],
  })
}

function stampOf(file: string): string {
  const { mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: 0 }
  return `${mtimeMs} ${size}`
}

function describeToken(tokenizer: Tokenizer, before: readonly number[], token: ChosenToken): ServedToken {
  const described = ({ id, logprob }: TokenLogprob) => ({
    id,
    logprob,
    text: tokenText(tokenizer, before, id),
  })
  return { ...described(token), top: token.top.map(described) }
}

/** The likeliest tokens of the prediction behind token t. */
function tokensAt({ ids, logprobs }: Alternatives, t: number, sequence: Int32Array): TokenLogprob[] {
  const each = ids.length / (sequence.length - 1)
  return Array.from(ids.subarray(t * each, (t + 1) * each), (id, k) => ({
    id,
    logprob: logprobs[t * each + k] ?? NaN,
  }))
}
