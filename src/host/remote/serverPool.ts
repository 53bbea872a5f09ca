/**
 * The rollout servers of a run as one. The completions of a prompt are asked of the same server, which then computes the
 * prompt once; prompts go to the server with the fewest open tokens. A server that does not answer is left out, its open
 * completions go to the others, and it is tried again with every rollout; only when none is left are they waited for.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '#shared/errors.ts'
import type { RolloutServer } from './rolloutServer.ts'

/** Job that one of the servers is asked to do. */
export interface Job<T> {
  /** Jobs of a group go to the same server. */
  readonly group: number
  /** The most that it reads and generates. */
  readonly tokens: number
  readonly run: (server: RolloutServer, signal: AbortSignal) => Promise<T>
}

export interface JobResult<T, J> {
  readonly job: J
  readonly server: RolloutServer
  readonly value: T
}

export interface ServerPoolOptions {
  readonly servers: readonly RolloutServer[]
  /** Jobs that each server runs at the same time. */
  readonly maxConcurrent: number
  /** Called before a server that was left out takes part again. */
  readonly onReturn: (server: RolloutServer) => Promise<void>
  /** Attempts to reach any of several servers when none is left, at growing intervals. */
  readonly retries: number
}

interface Member {
  readonly server: RolloutServer
  /** `unchecked`: it has not answered yet; `unsuitable`: it did, but cannot serve this run. */
  state: 'in' | 'out' | 'unchecked' | 'unsuitable'
  openTokens: number
  openJobs: number
  /** Aborted when it is left out. */
  gone: AbortController
  /** Check under way that it is reachable; null otherwise. */
  asking: Promise<boolean> | null
}

/** Throws where a server cannot serve the run. */
type Check = (server: RolloutServer) => Promise<void>

/** A job at a server. */
interface Placed<J> {
  readonly job: J
  readonly member: Member
}

interface Done<T, J> extends Placed<J> {
  readonly value: T
}

interface Failed<J> extends Placed<J> {
  readonly error: unknown
  /** True if its server was left out meanwhile. */
  readonly isLetGo: boolean
}

type Settled<T, J> = Done<T, J> | Failed<J>

const firstWaitMs = 250
const longestWaitMs = 30_000
/** Time that a server which may have come back has to answer, and for which a rollout waits. */
const tryingSeconds = 10
const momentMs = 1000

export class ServerPool implements Disposable {
  readonly #options: ServerPoolOptions
  readonly #members: readonly Member[]
  #notes: string[] = []
  #recovery: Promise<void> | null = null
  /** Resolved whenever a job ends, of whichever rollout. */
  #ended = Promise.withResolvers<null>()

  constructor(options: ServerPoolOptions) {
    this.#options = options
    this.#members = options.servers.map((server) => ({
      server,
      state: 'unchecked',
      openTokens: 0,
      openJobs: 0,
      gone: new AbortController(),
      asking: null,
    }))
  }

  /** Number of servers, including those that take no part. */
  get size(): number {
    return this.#members.length
  }

  /** Servers that take part now. */
  get servers(): readonly RolloutServer[] {
    return this.#in().map(({ server }) => server)
  }

  /** Requests that were made again. */
  get retried(): number {
    return this.#members.reduce((sum, { server }) => sum + server.retried, 0)
  }

  /** Returns what happened to servers since the last call, in sentences. */
  takeNotes(): readonly string[] {
    const notes = this.#notes
    this.#notes = []
    return notes
  }

  #in(): Member[] {
    return this.#members.filter(({ state }) => state === 'in')
  }

  /**
   * Admits the servers that pass the check. Errors: AppError 'server/unreachable' if none answers, and what the check says
   * of one that does.
   */
  async open(check: Check): Promise<void> {
    const missing: { readonly member: Member; readonly error: AppError }[] = []
    await Promise.all(
      this.#members.map(async (member) => {
        try {
          await check(member.server)
          member.state = 'in'
        } catch (error) {
          if (!isUnreachable(error)) throw error
          missing.push({ member, error })
        }
      }),
    )
    const [first] = missing
    if (first !== undefined && this.#in().length === 0) throw first.error
    for (const { error } of missing) this.#notes.push(leftOutNote(error))
  }

  /**
   * Asks the servers that are left out if they are back; one that takes longer than a moment may join later. `check`:
   * for a server that has never been checked; without it, such a server stays out.
   */
  async tryAgain(check: Check | null): Promise<void> {
    const answering: Member[] = []
    const asked = this.#members.map(async (member) => {
      if (await this.#answers(member)) answering.push(member)
    })
    await Promise.race([Promise.all(asked), wait(momentMs, undefined, { ref: false })])
    if (check !== null) for (const member of [...answering]) await this.#admit(member, check)
  }

  /** Asks a server that takes no part, though it may; one that was checked before takes part from then on. */
  async #answers(member: Member): Promise<boolean> {
    if (member.state !== 'out' && member.state !== 'unchecked') return false
    member.asking ??= this.#ask(member).finally(() => (member.asking = null))
    return member.asking
  }

  async #ask(member: Member): Promise<boolean> {
    try {
      await member.server.models({ retries: 0, timeoutSeconds: tryingSeconds })
      if (member.state === 'out') {
        await this.#options.onReturn(member.server)
        this.#takeIn(member)
      }
      return true
    } catch (error) {
      if (error instanceof AppError) return false
      throw error
    }
  }

  async #admit(member: Member, check: Check): Promise<void> {
    if (member.state !== 'unchecked') return
    try {
      await check(member.server)
      this.#takeIn(member)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.code === 'server/unreachable') return
      member.state = 'unsuitable'
      this.#notes.push(`${error.message} The server at ${member.server.url} takes no part in this run.`)
    }
  }

  #takeIn(member: Member): void {
    member.state = 'in'
    member.gone = new AbortController()
    this.#notes.push(`The rollout server at ${member.server.url} answers and takes part again.`)
  }

  /** Does the same on every server that takes part, at once. Errors: as the action, of a server that answers. */
  async onEach(action: (server: RolloutServer) => Promise<void>): Promise<void> {
    for (;;) {
      const errors = await Promise.all(this.#in().map((member) => this.#do(member, action)))
      if (this.#in().length > 0) return
      await this.#recover(errors.find((error) => error !== null) ?? noServerLeft())
    }
  }

  /** The error of a server that was left out because of it. */
  async #do(member: Member, action: (server: RolloutServer) => Promise<void>): Promise<AppError | null> {
    try {
      await action(member.server)
      return null
    } catch (error) {
      if (!isUnreachable(error)) throw error
      this.#leaveOut(member, error)
      return error
    }
  }

  /** Errors: the error, if there is only one server. */
  #leaveOut(member: Member, error: AppError): void {
    if (this.#members.length === 1) throw error
    if (member.state !== 'in') return
    member.state = 'out'
    member.gone.abort()
    this.#notes.push(leftOutNote(error))
  }

  /** Waits until any of the servers is back. Errors: `error` after all attempts. */
  #recover(error: AppError, signal?: AbortSignal): Promise<void> {
    this.#recovery ??= this.#waitForAny(error, signal).finally(() => (this.#recovery = null))
    return this.#recovery
  }

  async #waitForAny(error: AppError, signal: AbortSignal | undefined): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      await this.tryAgain(null)
      if (this.#in().length > 0) return
      if (attempt >= this.#options.retries) throw error
      const delay = Math.min(longestWaitMs, firstWaitMs * 2 ** attempt)
      await wait(delay, undefined, { signal }).catch(() => undefined)
      signal?.throwIfAborted()
    }
  }

  /**
   * Runs the jobs and yields their results as they come. Errors: AppError 'server/unreachable' when no server answers, and
   * whatever a job throws, the signal's reason included; then the others are to be let go by the signal.
   */
  async *run<T, J extends Job<T>>(jobs: readonly J[], signal: AbortSignal): AsyncGenerator<JobResult<T, J>> {
    const round = new Round(jobs)
    const running = new Map<J, Promise<Settled<T, J>>>()
    try {
      for (;;) {
        signal.throwIfAborted()
        if (this.#in().length === 0) await this.#recover(noServerLeft(), signal)
        for (let next = this.#next(round); next !== null; next = this.#next(round))
          running.set(next.job, this.#start(next, signal))
        if (running.size === 0 && round.isEmpty) return
        const settled = await Promise.race([...running.values(), this.#ended.promise])
        if (settled === null) continue
        running.delete(settled.job)
        if ('value' in settled) yield { ...settled, server: settled.member.server }
        else await this.#again(round, settled, signal)
      }
    } finally {
      round.releaseAll()
    }
  }

  /** Takes the next job that a server has room for from those that wait. */
  #next<J extends Job<unknown>>(round: Round<J>): Placed<J> | null {
    const free = this.#in().filter(({ openJobs }) => openJobs < this.#options.maxConcurrent)
    const [first] = free
    if (first === undefined) return null
    const idlest = free.reduce((best, member) => (member.openTokens < best.openTokens ? member : best), first)
    return round.take(idlest, (member) => free.includes(member))
  }

  async #start<T, J extends Job<T>>({ job, member }: Placed<J>, signal: AbortSignal): Promise<Settled<T, J>> {
    const { gone } = member
    member.openJobs++
    try {
      return { job, member, value: await job.run(member.server, AbortSignal.any([signal, gone.signal])) }
    } catch (error) {
      return { job, member, error, isLetGo: gone.signal.aborted }
    } finally {
      member.openJobs--
      member.openTokens -= job.tokens
      this.#ended.resolve(null)
      this.#ended = Promise.withResolvers<null>()
    }
  }

  /** Sends a job again: if its server is gone, it waits for another one. */
  async #again<J extends Job<unknown>>(
    round: Round<J>,
    { job, member, error, isLetGo }: Failed<J>,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted()
    if (isUnreachable(error)) this.#leaveOut(member, error)
    else if (!isLetGo) throw error
    round.putBack(job, member)
    if (isUnreachable(error) && this.#in().length === 0) await this.#recover(error, signal)
  }

  [Symbol.dispose](): void {
    for (const { server } of this.#members) server[Symbol.dispose]()
  }
}

/** The jobs of one rollout that wait, and which server each of their groups belongs to. */
class Round<J extends Job<unknown>> {
  #waiting: readonly J[]
  readonly #owners = new Map<number, Member>()

  constructor(jobs: readonly J[]) {
    this.#waiting = jobs
  }

  /** True if no job waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** The first whose group's server has room, or whose group has none yet: then it gets `idlest`. */
  take(idlest: Member, hasRoom: (member: Member) => boolean): Placed<J> | null {
    const job = this.#waiting.find((each) => {
      const owner = this.#ownerOf(each)
      return owner === null || hasRoom(owner)
    })
    if (job === undefined) return null
    const member = this.#ownerOf(job) ?? this.#assign(job.group, idlest)
    this.#waiting = this.#waiting.filter((each) => each !== job)
    return { job, member }
  }

  #ownerOf({ group }: J): Member | null {
    const owner = this.#owners.get(group)
    return owner?.state === 'in' ? owner : null
  }

  /** Assigns a group to a server, where its open tokens count from now on. */
  #assign(group: number, member: Member): Member {
    this.#release(group)
    this.#owners.set(group, member)
    member.openTokens += this.#tokensOf(group)
    return member
  }

  /** Stops counting requests that were not sent yet towards the server they were meant for. */
  #release(group: number): void {
    const before = this.#owners.get(group)
    if (before !== undefined) before.openTokens -= this.#tokensOf(group)
    this.#owners.delete(group)
  }

  #tokensOf(group: number): number {
    const own = this.#waiting.filter((job) => job.group === group)
    return own.reduce((sum, { tokens }) => sum + tokens, 0)
  }

  /** Puts a job back. `member`: server that was asked. */
  putBack(job: J, member: Member): void {
    this.#waiting = [job, ...this.#waiting]
    if (this.#owners.get(job.group) === member) member.openTokens += job.tokens
  }

  releaseAll(): void {
    for (const group of [...this.#owners.keys()]) this.#release(group)
  }
}

const isUnreachable = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'server/unreachable'

const leftOutNote = ({ message }: AppError): string =>
  `${message} It is left out, and tried again with every rollout.`

const noServerLeft = (): AppError =>
  new AppError('server/unreachable', 'None of the rollout servers answers.', 'Check that they are running.')
