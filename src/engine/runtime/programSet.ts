import type { Device } from '#shared/device.ts'
import type { Program } from '../graph/onnx.ts'
import { SELECTOR, choiceOutput, writeChoice } from '../graph/onnx.ts'
import { dialectOf, type SessionPurpose } from './device.ts'
import type { Feed } from './session.ts'
import { Session, emptyFeed, int64s } from './session.ts'

type Programs = Readonly<Record<string, Program>>

/**
 * Programs that share one session and so its memory: what one of them needed for its activations the next one uses again.
 * With a session for each layer, the layers' memory would add up.
 */
export class ProgramSet {
  readonly #session: Session
  readonly #programs: Programs
  /** What is fed for inputs that the selected program does not read. */
  readonly #unread: Readonly<Record<string, Feed>>
  readonly #selectors: ReadonlyMap<string, Feed>

  private constructor(session: Session, programs: Programs) {
    this.#session = session
    this.#programs = programs
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
    const session = await Session.open(writeChoice(name, programs, dialectOf(device)), {
      name,
      device,
      purpose,
    })
    return new ProgramSet(session, programs)
  }

  /** Computes the outputs named in `want` (default: all) of one program. */
  async run(
    program: string,
    feeds: Readonly<Record<string, Feed>>,
    want: readonly string[] = Object.keys(this.#programs[program] ?? {}),
  ): Promise<Record<string, Float32Array>> {
    const selector = this.#selectors.get(program)
    if (!selector) throw new Error(`There is no program ${program}.`)
    const results = await this.#session.run(
      { ...this.#unread, ...feeds, [SELECTOR]: selector },
      want.map((output) => choiceOutput(program, output)),
    )
    return Object.fromEntries(want.map((output) => [output, results[choiceOutput(program, output)]!]))
  }

  [Symbol.dispose](): void {
    this.#session[Symbol.dispose]()
  }
}
