import type { Device } from '#shared/device.ts'
import type { ChoiceModel, LoopProgram } from '../graph/choice.ts'
import { SELECTOR, choiceOutput, outputsOf, writeChoice } from '../graph/choice.ts'
import type { Program } from '../graph/onnx.ts'
import { dialectOf, type SessionPurpose } from './device.ts'
import type { Feed } from './session.ts'
import { Session, emptyFeed, int64s } from './session.ts'

type Programs = Readonly<Record<string, Program | LoopProgram>>

/**
 * Programs that share one session and so its memory: what one of them needed for its activations the next one uses again.
 * With a session for each layer, the layers' memory would add up.
 */
export class ProgramSet {
  readonly #session: Session
  readonly #programs: Programs
  /** What is fed for inputs that the selected program does not read. */
  readonly #unread: Readonly<Record<string, Feed>>
  readonly #reads: ChoiceModel['reads']
  readonly #selectors: ReadonlyMap<string, Feed>

  private constructor(session: Session, programs: Programs, reads: ChoiceModel['reads']) {
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
    programs: Programs,
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

  /** The same as tensors. */
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
