/**
 * Workflow whose episodes are sessions of agents: programs of the person's own that talk to the policy at an OpenAI-style
 * address and say how well they did. Reading guide of this folder:
 *
 *   agentSessions.ts        (here) the sessions of a run: offered, taken up by agents, over; agentServer.ts is their address
 *   session.ts              one of them, between the calls of its agent and the requests of its episode
 *   sessionTrajectories.ts  what is learned from it
 *   sessionLog.ts           what is kept for a run that is resumed
 */
import type { RunConfig } from '#shared/runConfig.ts'
import type { EpisodePlace, EpisodeRun, EpisodeStep, LiveWorkflow } from '#rl/rollout/workflow.ts'
import { Session, type SessionEnd } from './session.ts'
import {
  openSessionLog,
  placeKey,
  type RepeatedSession,
  type SessionLog,
  settingsDigest,
} from './sessionLog.ts'

export type AgentSettings = NonNullable<RunConfig['rollout']['agent']>

/** Wishes of an agent for the session it takes up; absent: any will do. */
export interface Wanted {
  readonly row?: number | undefined
  readonly evaluation?: boolean | undefined
}

/** Terms of all sessions of a stage. */
interface Terms {
  readonly settings: AgentSettings
  /** Digest of the settings that answers depend on. */
  readonly digest: string
  readonly maxNewTokens: number
  /** True if a resumed run asks the same again and gets the same tokens. */
  readonly repeats: boolean
}

interface Offered extends Pick<Terms, 'settings' | 'digest'> {
  readonly session: Session
  /** Ends it when its agent has been silent for too long. */
  silence: NodeJS.Timeout | null
}

export class AgentSessions implements Disposable {
  readonly #log: SessionLog
  /** Sessions by place. */
  readonly #offered = new Map<string, Offered>()
  /** Sessions that no agent has taken up yet. */
  readonly #free = new Set<Offered>()
  /** Sessions that an agent has taken up, by id. */
  readonly #taken = new Map<string, Session>()
  readonly #repeated = new Map<string, RepeatedSession>()
  #changed = Promise.withResolvers<undefined>()
  #isClosed = false

  /** `file`: of sessions that ended. Errors: AppError 'file/…'. */
  constructor(file: string, signal: AbortSignal) {
    this.#log = openSessionLog(file)
    const stop = () => this.#stop()
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  }

  /** The workflow of a stage whose settings name an agent. */
  workflowOf({ rollout, model, seed }: RunConfig, settings: AgentSettings): LiveWorkflow {
    const { agent: _, maxNewTokens, ...sampling } = rollout
    const digest = settingsDigest({ model, seed, maxNewTokens, sampling })
    // A server may answer differently, and rollouts ahead begin anew with a newer policy.
    const repeats = rollout.server === null
    return {
      id: 'agent',
      act: (run, place) => this.#act(run, place, { settings, digest, maxNewTokens, repeats }),
      ended: (place, failure) => this.#cutOff(place, failure),
    }
  }

  async #act(
    run: EpisodeRun,
    place: EpisodePlace,
    { settings, digest, maxNewTokens, repeats }: Terms,
  ): Promise<EpisodeStep> {
    const key = placeKey(place)
    const repeated = this.#repeated.get(key) ?? (repeats ? this.#log.find(place, digest) : null)
    if (repeated !== null) {
      this.#repeated.set(key, repeated)
      return repeated.next(run)
    }
    let offered = this.#offered.get(key)
    if (offered === undefined) {
      offered = {
        session: new Session(place, run, maxNewTokens),
        settings,
        digest,
        silence: null,
      }
      if (this.#isClosed) offered.session.break({ failure: stopped })
      this.#offered.set(key, offered)
      this.#free.add(offered)
      this.#tell()
    }
    const step = await offered.session.next(run)
    if (!('requests' in step || 'asksText' in step)) this.#over(key, offered)
    return step
  }

  #cutOff(place: EpisodePlace, failure: string): void {
    const offered = this.#offered.get(placeKey(place))
    if (offered === undefined) return
    offered.session.break({ failure })
    this.#over(placeKey(place), offered)
  }

  #over(key: string, offered: Offered): void {
    const { session, digest, silence } = offered
    if (silence !== null) clearTimeout(silence)
    this.#offered.delete(key)
    this.#free.delete(offered)
    this.#taken.delete(session.id)
    const kept = session.kept()
    if (kept !== null) this.#log.keep({ ...kept, place: session.place, settings: digest })
    session.over.resolve(undefined)
    if (this.#free.size > 0) this.#tell()
  }

  /* The agents' side. */

  /** A session that nobody has taken up, in order of rows; null where there is none now. */
  take({ row, evaluation }: Wanted): Session | null {
    const isWanted = ({ session: { place } }: Offered) =>
      (row === undefined || row === place.row) &&
      (evaluation === undefined || evaluation === (place.source === 'evaluation'))
    const free = this.#free.values().find(isWanted)
    if (free === undefined || this.#taken.size >= free.settings.maxSessions) return null
    this.#free.delete(free)
    this.#taken.set(free.session.id, free.session)
    this.heard(free.session)
    return free.session
  }

  /** An open session that an agent has taken up; null: it is over, or never was. */
  find(id: string): Session | null {
    return this.#taken.get(id) ?? null
  }

  /** The agent said something: its silence begins anew. */
  heard(session: Session): void {
    const offered = this.#offered.get(placeKey(session.place))
    if (offered?.session !== session) return
    const { silenceSeconds, silent } = offered.settings
    if (offered.silence !== null) offered.silence.refresh()
    else
      offered.silence = setTimeout(() => {
        if (session.isBusy) this.heard(session)
        else
          session.break(silent === 'zero' && session.calls > 0 ? zero : { failure: silence(silenceSeconds) })
      }, silenceSeconds * 1000)
  }

  /** Resolves when sessions were offered, taken or over since. */
  get changed(): Promise<undefined> {
    return this.#changed.promise
  }

  /** True when no session will be offered any more. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  #tell(): void {
    this.#changed.resolve(undefined)
    this.#changed = Promise.withResolvers<undefined>()
  }

  /** The run stops after this step: what no agent has taken up is not waited for. */
  #stop(isOver = false): void {
    this.#isClosed = true
    for (const offered of this.#offered.values())
      if (isOver || this.#free.has(offered)) offered.session.break({ failure: stopped })
    this.#tell()
  }

  [Symbol.dispose](): void {
    this.#stop(true)
    for (const { session, silence: timer } of this.#offered.values()) {
      if (timer !== null) clearTimeout(timer)
      session.over.resolve(undefined)
    }
    this.#log[Symbol.dispose]()
  }
}

const zero: SessionEnd = { reward: 0, callRewards: {}, dropped: [] }
const stopped = 'The run was stopped before an agent had ended this session.'
const silence = (seconds: number): string =>
  `The agent was silent for ${seconds} seconds (rollout.agent.silenceSeconds).`
