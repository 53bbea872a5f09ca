/** The agents of a run: their sessions and the address at which they act, as its config says. */
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import type { LiveWorkflow } from '#rl/rollout/workflow.ts'
import { createToken } from '#host/transports/access.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { startAgentServer } from './agentServer.ts'
import { AgentSessions } from './agentSessions.ts'

export interface OpenAgents extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`; null where no stage of the run has an agent. */
  readonly address: string | null
  /** The workflow of a stage in which an agent acts; null for others. */
  workflowOf(stage: RunConfig): LiveWorkflow | null
}

export interface AgentsOptions {
  readonly runDirectory: string
  /** Aborted: sessions that nobody has taken up are not waited for. */
  readonly signal: AbortSignal
  /** Key that agents show; absent: a new one, which only this process knows. */
  readonly key?: string | undefined
}

/** True if the text of a run's config names an agent, in any of its stages. */
export const namesAgent = (config: string): boolean => /"agent":\s*\{/.test(config)

/** Errors: AppError 'usage/invalid' for a port that is taken, 'file/…'. */
export async function openAgents(
  config: RunConfig,
  { runDirectory, signal, key = createToken() }: AgentsOptions,
): Promise<OpenAgents> {
  const first = stagesOf(config).find(({ rollout }) => rollout.agent !== null)?.rollout.agent
  if (first == null) return { address: null, workflowOf: () => null, [Symbol.asyncDispose]: async () => {} }
  const sessions = new AgentSessions(runPaths(runDirectory).sessions, signal)
  const server = await startAgentServer({ port: first.port, key, sessions })
  return {
    address: server.origin,
    workflowOf: (stage) =>
      stage.rollout.agent === null ? null : sessions.workflowOf(stage, stage.rollout.agent),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
