/**
 * The whole programs of a policy by name, as a device can best keep them: each in a session of its own where sessions share
 * the tensors of a device; all in one session where only a session's own weights stay there.
 */
import type { Device } from '#shared/device.ts'
import type { LoopProgram } from '../graph/choice.ts'
import type { Program } from '../graph/onnx.ts'
import type { SessionPurpose } from './device.ts'
import type { TensorHome } from './deviceTensors.ts'
import { OnDemand } from './onDemand.ts'
import { ProgramSet } from './programSet.ts'
import { Session, type Feed } from './session.ts'

export type Feeds = Readonly<Record<string, Feed>>

export interface ProgramDefinition<Form = Program> {
  readonly program: () => Form
  /** Outputs that the host does not read: they stay where they are, if the device holds tensors. */
  readonly kept?: readonly string[]
}

export type ProgramDefinitions<Form = Program> = Readonly<Record<string, ProgramDefinition<Form>>>

export interface Programs extends Disposable {
  /** All outputs of one program, or those wanted. `feeds` may hold more than it reads. */
  run(name: string, feeds: Feeds, want?: readonly string[]): Promise<Feeds>
}

/** Each program in a session of its own, opened when it is first run. All its outputs are always asked for. */
export class SeparatePrograms implements Programs {
  readonly #definitions: ProgramDefinitions
  readonly #device: Device
  readonly #home: TensorHome
  readonly #sessions = new OnDemand<Session>()

  constructor(definitions: ProgramDefinitions, device: Device, home: TensorHome) {
    this.#definitions = definitions
    this.#device = device
    this.#home = home
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
    return Session.create({ name, program, device: this.#device, purpose: 'learn', ...held })
  }

  [Symbol.dispose](): void {
    this.#sessions[Symbol.dispose]()
  }
}

/** All programs in one session, which is opened for the first run: the weights are on the device once. */
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
      return ProgramSet.create('model', Object.fromEntries(programs), device, purpose)
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
