/**
 * The whole programs of a policy by name, as a device can best keep them: each in a session of its own where sessions share
 * the tensors of a device; all in one session where only a session's own weights stay there.
 */
import type { Device } from '#shared/device.ts'
import {
  type LoopProgram,
  type ChoiceModel,
  SELECTOR,
  choiceOutput,
  outputsOf,
  writeChoice,
} from '../ops/branches.ts'
import type { Program } from '../graph/onnx.ts'
import { withOpenInputs } from '../ops/openInputs.ts'
import type { Segment } from '../models/segmentPrograms.ts'
import { type SessionPurpose, dialectOf } from './device.ts'
import type { TensorHome } from './deviceTensors.ts'
import { OnDemand, Session, type Feed, emptyFeed, int64s } from './session.ts'

export type Feeds = Readonly<Record<string, Feed>>

export interface ProgramDefinition<Form = Program> {
  readonly program: () => Form
  /** Outputs that the host does not read: they stay where they are, if the device holds tensors. */
  readonly kept?: readonly string[]
}

export type ProgramDefinitions<Form = Program> = Readonly<Record<string, ProgramDefinition<Form>>>

export interface Programs extends Disposable {
  /** Runs a program and returns all its outputs, or those wanted. `feeds` may hold more than it reads. */
  run(name: string, feeds: Feeds, want?: readonly string[]): Promise<Feeds>
}

/** Keeps each program in a session of its own, opened when it is first run. All its outputs are always requested. */
export class SeparatePrograms implements Programs {
  readonly #definitions: ProgramDefinitions
  readonly #device: Device
  readonly #home: TensorHome
  readonly #purpose: SessionPurpose
  readonly #sessions = new OnDemand<Session>()

  constructor(
    definitions: ProgramDefinitions,
    device: Device,
    { home, purpose = 'learn' }: { readonly home: TensorHome; readonly purpose?: SessionPurpose },
  ) {
    this.#definitions = definitions
    this.#device = device
    this.#home = home
    this.#purpose = purpose
  }

  async run(name: string, feeds: Feeds): Promise<Feeds> {
    const session = await this.#sessions.get(name, () => this.#open(name))
    return session.runTensors(feeds)
  }

  #open(name: string): Promise<Session> {
    const definition = this.#definitions[name]
    if (!definition) throw new Error(`There is no program ${name}.`)
    const program = definition.program()
    const { weights } = this.#home
    const held = weights
      ? { weights, kept: (definition.kept ?? []).filter((output) => output in program) }
      : {}
    return Session.create({ name, program, device: this.#device, purpose: this.#purpose, ...held })
  }

  [Symbol.dispose](): void {
    this.#sessions[Symbol.dispose]()
  }
}

/** Keeps all programs in one session, which is opened for the first run: the weights are on the device once. */
export class ResidentPrograms implements Programs {
  readonly #open: () => Promise<ProgramSet>
  readonly #set = new OnDemand<ProgramSet>()

  constructor(
    definitions: ProgramDefinitions<Program | LoopProgram>,
    device: Device,
    purpose: SessionPurpose,
  ) {
    this.#open = () => {
      const programs = Object.entries(definitions).map(([name, { program }]) => [name, program()] as const)
      return ProgramSet.create('model', withOpenInputs(Object.fromEntries(programs)), device, purpose)
    }
  }

  async run(name: string, feeds: Feeds, want?: readonly string[]): Promise<Feeds> {
    const set = await this.#set.get('model', this.#open)
    return set.runTensors(name, feeds, want)
  }

  [Symbol.dispose](): void {
    this.#set[Symbol.dispose]()
  }
}

/** Programs that can be made again, cut in another way; callers that run them by name keep this object. */
export class CutPrograms implements Programs {
  readonly #make: (segments: readonly Segment[]) => Programs
  #current: Programs

  constructor(segments: readonly Segment[], make: (segments: readonly Segment[]) => Programs) {
    this.#make = make
    this.#current = make(segments)
  }

  cut(segments: readonly Segment[]): void {
    this.#current[Symbol.dispose]()
    this.#current = this.#make(segments)
  }

  run(name: string, feeds: Feeds, want?: readonly string[]): Promise<Feeds> {
    return this.#current.run(name, feeds, want)
  }

  [Symbol.dispose](): void {
    this.#current[Symbol.dispose]()
  }
}

type ProgramTable = Readonly<Record<string, Program | LoopProgram>>

/**
 * ProgramTable that share one session and so its memory: what one of them needed for its activations the next one uses again.
 * With a session for each layer, the layers' memory would add up.
 */
export class ProgramSet {
  readonly #session: Session
  readonly #programs: ProgramTable
  /** Feeds for inputs that the selected program does not read. */
  readonly #unread: Readonly<Record<string, Feed>>
  readonly #reads: ChoiceModel['reads']
  readonly #selectors: ReadonlyMap<string, Feed>

  private constructor(session: Session, programs: ProgramTable, reads: ChoiceModel['reads']) {
    this.#session = session
    this.#programs = programs
    this.#reads = reads
    this.#unread = Object.fromEntries(session.inputs.map((input) => [input.name, emptyFeed(input)]))
    this.#selectors = new Map(
      Object.keys(programs).map((name, index) => [name, int64s(Int32Array.of(index), [1])]),
    )
  }

  static async create(
    name: string,
    programs: ProgramTable,
    device: Device,
    purpose: SessionPurpose = 'learn',
  ): Promise<ProgramSet> {
    const model = writeChoice(name, programs, dialectOf(device))
    return new ProgramSet(await Session.open(model, { name, device, purpose }), programs, model.reads)
  }

  /** Computes the outputs named in `want` (default: all) of one program. */
  async run(
    program: string,
    feeds: Readonly<Record<string, Feed>>,
    want?: readonly string[],
  ): Promise<Record<string, Float32Array>> {
    const results = Object.entries(await this.runTensors(program, feeds, want))
    return Object.fromEntries(results.map(([output, { data }]) => [output, data as Float32Array]))
  }

  /** Returns the outputs as tensors. */
  async runTensors(
    program: string,
    feeds: Readonly<Record<string, Feed>>,
    want: readonly string[] = outputsOf(this.#programs[program] ?? {}),
  ): Promise<Record<string, Feed>> {
    const selector = this.#selectors.get(program)
    if (!selector) throw new Error(`There is no program ${program}.`)
    const read: Record<string, Feed> = { [SELECTOR]: selector }
    for (const [name, input] of this.#reads[program]!) {
      const feed = feeds[name]
      if (!feed) throw new Error(`${this.#session.name}: ${program} needs the input ${name}.`)
      read[input] = feed
    }
    const results = await this.#session.runTensors(
      { ...this.#unread, ...read },
      want.map((output) => choiceOutput(program, output)),
    )
    return Object.fromEntries(want.map((output) => [output, results[choiceOutput(program, output)]!]))
  }

  [Symbol.dispose](): void {
    this.#session[Symbol.dispose]()
  }
}
