/** One virtual machine with one piece of user code in it: QuickJS compiled to WebAssembly, under limits. */
import { readFileSync } from 'node:fs'
import importedVariant from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import { Deadline } from './deadline.ts'
import { answerLimits, harnessSource } from './harness.ts'
import { photograph, type LinearMemory, type MemoryImage, firstAllocation, newText } from './memoryImage.ts'
import { failureJson, type FailureKind, loadedTooLong, outOfMemory, stopped } from './protocol.ts'
import { wasmFile } from './wasmFile.ts'

/** Name of user code in error positions. */
export const codeName = 'code'

/**
 * QuickJS refuses deeper recursion with an error of its own. With twice as much the stack of the process itself
 * overflows first, and the instance is lost.
 */
const stackBytes = 256 * 1024

/** Jobs run between two looks at the clock. */
const jobsAtOnce = 1_000

export interface MachineLimits {
  readonly memoryMb: number
  /** Longest answer of a call, as JSON text. */
  readonly answerCharacters: number
  /** Processor time for evaluating a module, ms. */
  readonly loadMs: number
}

export interface MachineCall {
  readonly target: string
  readonly input: string
  readonly seed: number
  /** Processor time, ms. */
  readonly callMs: number
}

/** Thrown where the code does not even load. */
export class LoadFailure extends Error {
  readonly kind: FailureKind
  readonly guestStack: string

  constructor(kind: FailureKind, message: string, guestStack: string) {
    super(message)
    this.name = 'LoadFailure'
    this.kind = kind
    this.guestStack = guestStack
  }
}

/** Neither TypeScript's ES library nor Node's types know WebAssembly. */
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: {
    readonly Module: new (bytes: Uint8Array) => object
    readonly Memory: new (pages: { initial: number; maximum: number }) => LinearMemory
  }
}

/** Memory that the instance was built for: its data, 5 MiB of stack and the beginning of the heap. */
const initialPages = 256
const stackMb = 6

/**
 * The limit on memory is the size the linear memory may reach. QuickJS has a limit of its own, but in this build it
 * does not know the sizes of its blocks and so bounds single allocations only.
 */
const limitedMemory = (memoryMb: number): LinearMemory =>
  new WebAssembly.Memory({
    initial: initialPages,
    maximum: Math.max(initialPages, Math.ceil((stackMb + memoryMb) * 16)),
  })

/** The package's types are written for CommonJS; imported as a module, its default export is the variant itself. */
const variant = importedVariant as unknown as QuickJSSyncVariant

let compiled: object | undefined

/** Compiled once per process; every instance is fresh. */
function newInstance(wasmMemory: LinearMemory): Promise<QuickJSWASMModule> {
  compiled ??= new WebAssembly.Module(readFileSync(wasmFile()))
  return newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmModule: compiled, wasmMemory }))
}

interface Entrances {
  readonly call: QuickJSHandle
  readonly take: QuickJSHandle
  /** The property's name, made once: it is asked for in every call. */
  readonly length: QuickJSHandle
}

/** Code that traces a loss: an expression whose value is `{ describe, trace }`, and the names that a loss imports from `turnwise`. */
export interface Tracer {
  readonly source: string
  readonly names: readonly string[]
}

export class Machine {
  /** Description of the module as JSON text, made in user code's realm and not to be trusted. */
  readonly description: string
  readonly #instance: QuickJSWASMModule
  readonly #runtime: QuickJSRuntime
  readonly #context: QuickJSContext
  readonly #entrances: Entrances
  readonly #image: MemoryImage
  readonly #limits: MachineLimits
  readonly #clock: Deadline
  #isSpoiled = false

  private constructor(parts: {
    readonly description: string
    readonly instance: QuickJSWASMModule
    readonly runtime: QuickJSRuntime
    readonly context: QuickJSContext
    readonly entrances: Entrances
    readonly image: MemoryImage
    readonly limits: MachineLimits
    readonly clock: Deadline
  }) {
    this.description = parts.description
    this.#instance = parts.instance
    this.#runtime = parts.runtime
    this.#context = parts.context
    this.#entrances = parts.entrances
    this.#image = parts.image
    this.#limits = parts.limits
    this.#clock = parts.clock
  }

  /** Evaluates plain JavaScript as a module; `tracer` is what code of a loss is traced by. Throws LoadFailure. */
  static async load(code: string, limits: MachineLimits, tracer: Tracer | null): Promise<Machine> {
    const memory = limitedMemory(limits.memoryMb)
    const instance = await newInstance(memory)
    const firstHeapByte = firstAllocation(instance)
    const runtime = instance.newRuntime()
    runtime.setMemoryLimit(limits.memoryMb * 1024 * 1024)
    runtime.setMaxStackSize(stackBytes)
    runtime.setModuleLoader((name) =>
      name === 'turnwise'
        ? ownModule(tracer?.names ?? ['defineWorkflow', 'defineTools'])
        : { error: new Error(`Cannot import “${name}”: sandboxed code imports from 'turnwise' alone.`) },
    )
    const clock = new Deadline()
    runtime.setInterruptHandler(() => clock.hasPassed())
    const context = runtime.newContext()
    clock.start(limits.loadMs)
    try {
      const harness = context.unwrapResult(context.evalCode(harnessSource, 'harness'))
      const trace =
        tracer === null ? context.undefined : context.unwrapResult(context.evalCode(tracer.source, 'harness'))
      const module = loadedModule(runtime, context, code)
      const describe = context.getProp(harness, 'describe')
      const description = stringOf(context, context.callFunction(describe, context.undefined, module, trace))
      const entrances = {
        call: context.getProp(harness, 'call'),
        take: context.getProp(harness, 'take'),
        length: context.newString('length'),
      }
      const image = photograph(memory, firstHeapByte)
      return new Machine({ description, instance, runtime, context, entrances, image, limits, clock })
    } catch (error) {
      if (error instanceof LoadFailure && !clock.hasPassed()) throw error
      throw clock.hasPassed()
        ? new LoadFailure('timeout', loadedTooLong(limits.loadMs), '')
        : hostFailure(error)
    }
  }

  /** True after a call that left the machine in doubt; it must not be used again. */
  get isSpoiled(): boolean {
    return this.#isSpoiled
  }

  /** Calls one of the module's functions with a sample given as JSON text; the answer is JSON text too. `callMs`: processor time. */
  call({ target, input, seed, callMs }: MachineCall): string {
    this.#image.restore()
    this.#clock.start(callMs)
    try {
      const answer = this.#answer(target, input, seed)
      if (!this.#clock.hasPassed()) return answer
    } catch (error) {
      this.#isSpoiled = true
      if (!this.#clock.hasPassed()) return failureText(hostFailure(error))
    }
    this.#isSpoiled = true
    return failureText(new LoadFailure('timeout', stopped(callMs), ''))
  }

  #answer(target: string, input: string, seed: number): string {
    const context = this.#context
    if (input.length * 2 > this.#limits.memoryMb * 1024 * 1024) {
      return failureText(new LoadFailure('memory', 'The sample alone needs more than the memory limit.', ''))
    }
    const called = context.callFunction(
      this.#entrances.call,
      context.undefined,
      newText(this.#instance, context, target),
      newText(this.#instance, context, input),
      context.newNumber(seed),
    )
    if (called.error) throw errorOf(context, called.error)
    const limit = this.#limits.answerCharacters
    if (context.typeof(called.value) === 'string')
      return textOf(context, called.value, this.#entrances.length, limit)
    for (;;) {
      runJobs(this.#runtime, this.#clock)
      const taken = context.callFunction(this.#entrances.take, context.undefined)
      // undefined: what it waited for was given, so that there are jobs again.
      const goesOn = !taken.error && context.typeof(taken.value) === 'undefined' && !this.#clock.hasPassed()
      if (!goesOn) return stringOf(context, taken, limit)
    }
  }
}

/** Source of the module that `import … from 'turnwise'` loads: it exports names that exist without it. */
const ownModule = (names: readonly string[]): string =>
  names.map((name) => `export const ${name} = globalThis.${name}\n`).join('')

/** The namespace of the evaluated module. */
function loadedModule(runtime: QuickJSRuntime, context: QuickJSContext, code: string): QuickJSHandle {
  const result = context.evalCode(code, codeName, { type: 'module' })
  if (result.error) throw errorOf(context, result.error)
  const state = (runtime.executePendingJobs(jobsAtOnce), context.getPromiseState(result.value))
  if (state.type === 'fulfilled') return state.value
  if (state.type === 'rejected') throw errorOf(context, state.error)
  throw new LoadFailure('exception', 'The code awaits something at its top level that never resolves.', '')
}

/** Runs promise callbacks until none is left or the time is over. */
function runJobs(runtime: QuickJSRuntime, clock: Deadline): void {
  while (runtime.hasPendingJob() && !clock.hasPassed()) {
    const result = runtime.executePendingJobs(jobsAtOnce)
    if (result.error) throw errorOf(result.error.context, result.error)
  }
}

function stringOf(
  context: QuickJSContext,
  result: ReturnType<QuickJSContext['callFunction']>,
  limit: number = answerLimits.characters,
): string {
  if (result.error) throw errorOf(context, result.error)
  if (context.typeof(result.value) === 'string') return textOf(context, result.value, 'length', limit)
  throw new LoadFailure('exception', 'The call returned nothing.', '')
}

/** The length is looked at before anything is copied out. */
function textOf(
  context: QuickJSContext,
  text: QuickJSHandle,
  lengthName: QuickJSHandle | 'length',
  limit: number,
): string {
  const length = context.getNumber(context.getProp(text, lengthName))
  if (length <= limit) return context.getString(text)
  throw new LoadFailure('too-large', `The answer is longer than ${limit} characters.`, '')
}

/** Reads an error that came out of the machine itself. Its properties are user code's, hence the care. */
function errorOf(context: QuickJSContext, error: QuickJSHandle): LoadFailure {
  const read = (name: string): string => {
    const value = context.getProp(error, name)
    if (context.typeof(value) !== 'string') return ''
    return context.getNumber(context.getProp(value, 'length')) < 10_000 ? context.getString(value) : ''
  }
  if (context.typeof(error) !== 'object') return new LoadFailure('memory', outOfMemory, '')
  const [name, message, stack] = [read('name'), read('message'), read('stack')]
  // Where memory is out, the error's own message may not fit either.
  if (message === 'out of memory' || ((name === '' || name === 'InternalError') && message === '')) {
    return new LoadFailure('memory', outOfMemory, stack)
  }
  if (message === 'stack overflow') return new LoadFailure('stack', message, stack)
  return new LoadFailure('exception', name === '' ? message : `${name}: ${message}`, stack)
}

/** Converts an error of the machine itself, not of the code: its stack or memory ran out, usually. */
function hostFailure(error: unknown): LoadFailure {
  if (error instanceof LoadFailure) return error
  if (error instanceof RangeError) return new LoadFailure('stack', 'stack overflow', '')
  const message = error instanceof Error ? error.message : String(error)
  if (/memory|allocat/i.test(message)) return new LoadFailure('memory', outOfMemory, '')
  return new LoadFailure('exception', `The virtual machine failed: ${message}`, '')
}

export const failureText = ({ kind, message, guestStack }: LoadFailure): string =>
  failureJson(kind, message, guestStack)
