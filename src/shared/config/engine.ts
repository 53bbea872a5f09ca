/** Who trains: Turnwise itself, or a trainer of Python that Turnwise starts and watches. */
import { z } from 'zod'
import { path, wholeNumber } from './settings.ts'

/** What trains a run. */
export const engineKinds = ['local', 'trl'] as const
/** How a trainer's processes are started. */
export const launcherKinds = ['python', 'accelerate', 'command'] as const

export type EngineKind = (typeof engineKinds)[number]
export type LauncherKind = (typeof launcherKinds)[number]

export const engineSection = z.strictObject({
  kind: z
    .enum(engineKinds)
    .default('local')
    .meta({
      label: 'Trained by',
      description: 'Turnwise, or a trainer in Python that it starts and watches.',
      options: { local: 'Turnwise', trl: 'TRL' },
    }),
  launcher: z
    .enum(launcherKinds)
    .default('python')
    .meta({
      label: 'Started by',
      description: 'How the processes of the trainer are started.',
      options: {
        python: 'Python, with torchrun for several processes',
        accelerate: 'accelerate launch',
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
})
