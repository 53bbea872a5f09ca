/** Resolves a run's config to its workflow: user code in a sandbox. */
import { codeReference } from '#shared/config/codeReference.ts'
import { invalidConfig } from '#shared/errors.ts'
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import type { LiveWorkflow, Workflow } from '#rl/rollout/workflow.ts'
import { readRewardCode, requireSandboxed, runWorkflowCode, type UserCode } from './rewardCode.ts'
import { kindTitles, openSandbox, type Sandbox } from '#host/sandbox/sandbox.ts'
import { requireSettings } from '#host/sandbox/scoringCode.ts'

type WorkflowEntry = NonNullable<RunConfig['rollout']['workflow']>

export interface ResolvedWorkflows extends AsyncDisposable {
  /** Workflow of each stage; null for a stage without one. */
  readonly all: readonly (Workflow | LiveWorkflow | null)[]
}

/**
 * The workflow of each stage, with the code in the run's folder; `liveOf`: of one in which an agent acts, by default none. Errors: AppError 'config/invalid' for what is no workflow,
 * 'sandbox/failed' for code that does not load, 'file/…'.
 */
export async function resolveWorkflows(
  config: RunConfig,
  runDirectory: string,
  liveOf: (stage: RunConfig) => LiveWorkflow | null = () => null,
): Promise<ResolvedWorkflows> {
  const stages = stagesOf(config)
  const opened: (OpenWorkflow | null)[] = []
  const close = async () => {
    for (const each of opened) await each?.[Symbol.asyncDispose]()
  }
  try {
    for (const [stage, { rollout, rewardLimits }] of stages.entries()) {
      const entry = rollout.workflow
      const code = entry && runWorkflowCode(entry, runDirectory, stage)
      opened.push(entry && code && (await openWorkflow(code, entry, rewardLimits)))
    }
    const live = stages.map(liveOf)
    return { all: opened.map((each, i) => each?.workflow ?? live[i] ?? null), [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

interface OpenWorkflow extends AsyncDisposable {
  readonly workflow: Workflow
}

/** Errors as resolveWorkflows. */
async function openWorkflow(
  code: UserCode,
  entry: Pick<WorkflowEntry, 'function' | 'settings'>,
  rewardLimits: RunConfig['rewardLimits'],
): Promise<OpenWorkflow> {
  const sandbox = await openSandbox(requireSandboxed(code, 'A workflow'), rewardLimits)
  try {
    const workflow = sandboxedWorkflow(sandbox, entry)
    return { workflow, [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose]() }
  } catch (error) {
    await sandbox[Symbol.asyncDispose]()
    throw error
  }
}

/** Checks, before a run is created, that its code loads and is a workflow. Errors: as `resolveWorkflows`. */
export async function requireWorkingWorkflows(config: RunConfig): Promise<void> {
  for (const { rollout, rewardLimits } of stagesOf(config)) {
    const entry = rollout.workflow
    if (entry === null) continue
    const code = readRewardCode(requireWorkflowFile(entry))
    await using _workflow = await openWorkflow(code, entry, rewardLimits)
  }
}

/** Errors: AppError 'config/invalid'. */
export function requireWorkflowFile({ function: file }: Pick<WorkflowEntry, 'function'>) {
  const reference = codeReference(file)
  if (reference !== null) return reference
  throw invalidConfig(
    `“${file}” is not the path of a .ts or .js file.`,
    'A workflow is a file; the gallery has some to copy.',
  )
}

/** Errors: AppError 'config/invalid' for code that is no workflow, or for settings it does not have. */
function sandboxedWorkflow(
  sandbox: Sandbox,
  { function: id, settings }: Pick<WorkflowEntry, 'function' | 'settings'>,
): Workflow {
  requireWorkflow(sandbox)
  requireSettings(sandbox, settings)
  return { id, run: (episodes) => sandbox.episode(episodes.map((episode) => ({ ...episode, settings }))) }
}

/** Errors: AppError 'config/invalid'. */
export function requireWorkflow({ kind }: Pick<Sandbox, 'kind'>): void {
  if (kind === 'workflow') return
  throw invalidConfig(
    `The code is ${kindTitles[kind]}, not a workflow.`,
    'A workflow exports defineWorkflow({ episode }) as default.',
  )
}
