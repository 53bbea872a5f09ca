/**
 * The tools of `turnwise mcp`: a table over the contract of #shared/api. A tool's arguments are the input of its procedure, narrowed to what a
 * model should choose; `toolServer.ts` serves the table.
 */
import { z } from 'zod'
import type { Permission } from '#shared/api/agents.ts'
import { api, type Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import type { CallName, Contract, InputOf, Procedure } from '#shared/api/contract.ts'
import { isObject } from '#shared/config/paths.ts'
import { refusal } from '#shared/errors.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import type { ReadFiles } from './permission.ts'
import { evaluated, exported, settled, type Waiting } from './waiting.ts'

export interface Tool {
  readonly name: string
  readonly description: string
  readonly input: z.ZodObject
  /** Consent that the owner of the machine must have given; null: it only reads. */
  readonly needs: Permission | null
  /** True if the answer quotes texts that others may have written. */
  readonly quotes: boolean
  /** Code of a run that a call would have read; absent: at most what its arguments name. */
  readonly reads?: (input: unknown) => ReadFiles
  readonly call: (client: Client<Api>, input: unknown, waiting: Waiting) => Promise<unknown>
}

interface Narrowed {
  readonly name: string
  readonly description: string
  /** Absent: the input of the procedure. */
  readonly input?: z.ZodObject
}

interface LooseClient {
  readonly call: (name: string, input: unknown, options: object) => Promise<unknown>
}

/** Makes a tool that answers with a query, or with several of the same input, by name. */
const read = (from: CallName<Api> | Readonly<Record<string, CallName<Api>>>, own: Narrowed): Tool => ({
  ...own,
  input: own.input ?? inputOf(typeof from === 'string' ? from : Object.values(from)[0]),
  needs: null,
  quotes: true,
  async call(client, given, { signal }) {
    if (typeof from === 'string') return callOf(client, from, given, signal)
    const answers = Object.entries(from).map(
      async ([part, name]) => [part, await callOf(client, name, given, signal)] as const,
    )
    return Object.fromEntries(await Promise.all(answers))
  },
})

/** Makes a tool that starts or changes work; its answer is Turnwise’s own. */
const act = (name: CallName<Api>, own: Narrowed): Tool => ({
  ...own,
  input: own.input ?? inputOf(name),
  needs: 'start',
  quotes: false,
  call: async (client, given, { signal }) => (await callOf(client, name, given, signal)) ?? 'Done.',
})

async function callOf(
  client: Client<Api>,
  name: CallName<Api>,
  input: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const isVoid = procedureOf(name)?.input instanceof z.ZodVoid
  // The host checks the input against the schema of this very name.
  const { call } = client as unknown as LooseClient
  const answer = await call(name, isVoid ? undefined : input, { signal })
  if (name !== 'runs.get' || !isObject(answer)) return answer
  return { ...answer, config: parsedJson(String(answer['config'])) }
}

const procedureOf = (name = ''): Procedure | undefined => {
  const [area = '', procedure = ''] = name.split('.')
  return (api as Contract)[area]?.[procedure]
}

function inputOf(name: CallName<Api> | undefined): z.ZodObject {
  const input = procedureOf(name)?.input
  return input instanceof z.ZodObject ? input : z.object({})
}

type Resume = InputOf<Api, 'runs.resume'>

/** Settings by which a run deletes checkpoints. */
const deleting = /^checkpoints\.(?:keep|diskBudget)/

/** Resumes a run where that deletes none of its checkpoints, as going on from one deletes those after it. Errors: AppError 'api/refused'; those of runs.resume. */
async function resumed(client: Client<Api>, input: unknown, { signal }: Waiting): Promise<unknown> {
  const { runId, step, changes } = input as Resume
  const newest = (await client.call('checkpoints.list', { runId }, { signal })).findLast(
    ({ problem }) => problem === null,
  )
  const setting = Object.keys(changes ?? {}).find((key) => deleting.test(key))
  if (setting === undefined && (step === undefined || step === newest?.step))
    return client.call('runs.resume', { runId, changes }, { signal })
  throw refusal(
    setting === undefined
      ? `An assistant resumes a run only from its newest checkpoint: going on from step ${step} would delete those after it.`
      : `An assistant does not change ${setting} of a run, which would delete checkpoints.`,
    'Nothing was changed. fork_run makes a new run from any checkpoint, with changed settings; the person can resume this one.',
  )
}

const { runs, metrics, samples, evaluations, checkpoints } = api

const limit = (most: number, initial: number) => z.int().min(1).max(most).default(initial)
const seconds = z.int().min(0).max(3600).default(45).meta({ description: 'Longest wait, in seconds.' })

export const tools: readonly Tool[] = [
  read('runs.list', {
    name: 'list_runs',
    description: 'List runs, newest first: status, step, rewards, worst finding.',
    input: runs.list.input.extend({ limit: limit(200, 20) }),
  }),
  read(
    { run: 'runs.get', checkpoints: 'checkpoints.list' },
    { name: 'get_run', description: 'Show a run: its config, status and rewards, and its checkpoints.' },
  ),
  read('runs.diagnosis', {
    name: 'diagnose_run',
    description:
      'Explain what is wrong with a run, on what evidence, and which settings to change. It also works while the run trains.',
  }),
  read('runs.compare', {
    name: 'compare_runs',
    description: 'Show the settings in which runs differ, and their last metrics.',
  }),
  read('metrics.series', {
    name: 'read_metric',
    description: 'Read a metric of runs over their steps, such as reward, eval_reward, kl or entropy.',
    input: metrics.series.input.extend({ maxPoints: z.int().min(2).max(200).default(30) }),
  }),
  read('samples.list', {
    name: 'read_samples',
    description: 'Read prompts, completions and rewards of a run, newest step first.',
    input: samples.list.input.omit({ dataRow: true }).extend({ limit: limit(50, 8) }),
  }),
  read(
    { dataSets: 'datasets.list', models: 'models.list' },
    {
      name: 'list_data_and_models',
      description: 'List imported data sets and models, with the folders that configs refer to.',
    },
  ),
  read('runs.sample', {
    name: 'demo_config',
    description: 'Return the config of the demo, which trains a small model in a minute, to start from.',
  }),
  {
    ...act('runs.check', {
      name: 'check_config',
      description:
        'Check a run config, with the data and code that it names, and list every problem. Starts no training.',
    }),
    quotes: true,
  },
  act('runs.start', {
    name: 'start_run',
    description: 'Start a run. Returns its id at once; watch_run waits for it.',
    input: runs.start.input.pick({ config: true, tags: true }),
  }),
  {
    name: 'watch_run',
    description:
      'Wait until a run ends or has taken a step (untilStep). Returns its status and last metrics.',
    input: runs.follow.input.extend({ untilStep: z.int().min(0).optional(), seconds }),
    needs: null,
    quotes: true,
    call: settled,
  },
  act('runs.stop', {
    name: 'stop_run',
    description: 'Stop a run after its current step, with a checkpoint.',
  }),
  {
    ...act('runs.resume', {
      name: 'resume_run',
      description:
        'Continue a stopped or interrupted run from its last checkpoint, with changed settings if given, such as {"optimization.learningRate": 1e-4}.',
    }),
    // It goes on with its own copy.
    reads: (input) => ({ runId: (input as Resume).runId }),
    call: resumed,
  },
  {
    ...act('runs.fork', {
      name: 'fork_run',
      description:
        'Start a new run from a checkpoint of another (see get_run), with changed settings by their dotted names.',
      input: runs.fork.input.omit({ start: true }),
    }),
    reads: (input) => ({ fork: input as InputOf<Api, 'runs.fork'> }),
  },
  {
    name: 'evaluate',
    description:
      'Evaluate a checkpoint or a model on held-out data and wait for the result. Beyond the time given it goes on: see list_evaluations.',
    input: evaluations.start.input.extend({ seconds }),
    needs: 'start',
    quotes: true,
    reads(input) {
      const { seconds: _, ...evaluation } = input as InputOf<Api, 'evaluations.start'> & { seconds: number }
      return { evaluation }
    },
    call: evaluated,
  },
  read('evaluations.list', { name: 'list_evaluations', description: 'List evaluations with their results.' }),
  read('evaluations.compare', {
    name: 'compare_evaluations',
    description: 'Test whether evaluation b is better than a.',
  }),
  {
    name: 'export_checkpoint',
    description:
      'Export the checkpoint of a step for other programs into a new folder (out, an absolute path), and compare it with the trained model.',
    // Without the name of the base: it would be remembered.
    input: checkpoints.export.input.options[0].omit({ hubId: true }),
    needs: 'export',
    quotes: false,
    call: exported,
  },
]
