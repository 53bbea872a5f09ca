/** Trainer of a run: Turnwise itself, or a Python trainer that Turnwise starts and watches. */
import { z } from 'zod'
import { isWebAddress, webAddressWords } from './addresses.ts'
import { numberSetting, path, wholeNumber } from './settings.ts'

export const engineKinds = ['local', 'trl', 'agilerl'] as const
/** Ways to start a trainer's processes. */
export const launcherKinds = ['python', 'accelerate', 'ray', 'command'] as const
/** Ways to receive a trainer's reports and checkpoints. */
export const resultWays = ['folder', 'output'] as const

export type EngineKind = (typeof engineKinds)[number]
export type LauncherKind = (typeof launcherKinds)[number]
export type ResultWay = (typeof resultWays)[number]

export const engineSection = z.strictObject({
  kind: z
    .enum(engineKinds)
    .default('local')
    .meta({
      label: 'Trained by',
      description: 'Turnwise, or a trainer in Python that it starts and watches.',
      options: { local: 'Turnwise', trl: 'TRL', agilerl: 'AgileRL' },
    }),
  launcher: z
    .enum(launcherKinds)
    .default('python')
    .meta({
      label: 'Started by',
      description: 'How the processes of the trainer are started.',
      options: {
        python: 'Python or torchrun',
        accelerate: 'accelerate launch',
        ray: 'a Ray cluster',
        command: 'a command of your own',
      },
    }),
  python: path.nullable().default(null).meta({
    label: 'Python of the trainer',
    description: 'The Python program that has the trainer, such as .venv/bin/python.',
    empty: 'that of `python.interpreter`',
  }),
  processes: wholeNumber(1, 1024).nullable().default(null).meta({
    description: 'Processes that train together, such as one per GPU.',
    empty: 'one, or as many as `accelerateConfig` says',
  }),
  accelerateConfig: path.nullable().default(null).meta({
    label: 'Config of accelerate',
    description: 'A config file of accelerate, such as for DeepSpeed or FSDP; it is passed on as it is.',
    empty: 'none',
  }),
  command: z.string().min(1).nullable().default(null).meta({
    description:
      'Command for the shell, such as srun --ntasks 4 {python} {script}. It must keep standard input open and wait for the processes.',
    empty: 'none',
  }),
  address: z.string().refine(isWebAddress, webAddressWords).nullable().default(null).meta({
    label: 'Address of the cluster',
    description: 'Address of the dashboard of a Ray cluster, such as http://head:8265.',
    empty: 'http://127.0.0.1:8265',
  }),
  runtimeEnv: path.nullable().default(null).meta({
    label: 'Runtime environment of Ray',
    description:
      'A YAML file with a runtime environment of Ray, such as packages to install; it is passed on as it is.',
    empty: 'none',
  }),
  patienceSeconds: numberSetting({
    default: 300,
    minimum: 1,
    description: 'Seconds that a cluster may not answer before the run ends.',
  }).meta({ label: 'Patience with the cluster' }),
  model: z.string().min(1).nullable().default(null).meta({
    label: 'Model at the trainer',
    description: 'The same model where the trainer runs: a folder there, or its name on the hub.',
    empty: 'the folder of `model`',
  }),
  results: z
    .enum(resultWays)
    .nullable()
    .default(null)
    .meta({
      label: 'Results come back',
      description: 'How steps, samples and checkpoints come back from the trainer.',
      empty: 'in the log of a Ray job, else by the folder of the run',
      options: {
        folder: 'by the folder of the run, which the trainer sees',
        output: 'in what the trainer prints',
      },
    }),
})
