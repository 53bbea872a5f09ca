/** Sources of rewards: functions of completions, or an environment. */
import { z } from 'zod'
import { maxSetting, path } from './settings.ts'

export const rewardSection = z.strictObject({
  function: z
    .string()
    .min(1)
    .describe(
      'Id of a built-in reward function, or the path of a .ts, .js or .py file; file.ts#name picks one of several. `reasoning-gym` scores tasks of ReasoningGym, `reasoning-gym-evaluating` also those whose scorer evaluates completions as Python. Python must be allowed on the machine.',
    ),
  weight: z.number().min(-maxSetting).max(maxSetting).default(1).describe('Factor in the sum.'),
  name: z
    .string()
    .regex(/^[^/]+$/, 'must not contain a slash')
    .optional()
    .describe('Name on charts; the id by default.'),
  settings: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Settings of the function, such as the column of the expected answer.'),
})

export const rewardLimitsSection = z.strictObject({
  callMs: z
    .number()
    .positive()
    .max(3_600_000)
    .default(1000)
    .meta({ label: 'Time per call (ms)', description: 'Processor time of one call, in milliseconds.' }),
  batchMs: z
    .number()
    .positive()
    .max(86_400_000)
    .default(15_000)
    .meta({ label: 'Time per 64 calls (ms)', description: 'Processor time of 64 calls, in milliseconds.' }),
  memoryMb: z
    .number()
    .min(10)
    .max(1024)
    .default(32)
    .meta({ label: 'Memory (MB)', description: 'Memory, in megabytes.' }),
})

export const pythonSection = z.strictObject({
  interpreter: path.nullable().default(null).meta({
    description: 'The Python program: a name, or a path such as .venv/bin/python.',
    empty: 'python3 (on Windows, python)',
  }),
  callSeconds: z.number().positive().max(86_400).default(60).meta({
    label: 'Processor time per call (s)',
    description:
      'Processor time of one call with all completions of a batch, or of one turn of an episode; then Python is started again. It may wait ten times as long, at most an hour.',
  }),
  messages: z.boolean().nullable().default(null).meta({
    label: 'Prompts and completions as messages',
    description: 'Whether reward functions get lists of messages or text.',
    empty: 'as prompts are made',
  }),
})

export const environmentSection = z.strictObject({
  function: z
    .string()
    .min(1)
    .describe(
      'Id of a built-in environment, the path of a .ts or .js file, file.py#Class, gymnasium:ID, or a .json file of MCP servers. Python and servers must be allowed on the machine.',
    ),
  settings: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Settings of the environment.'),
  settingsFromRow: z.record(z.string(), z.string().min(1)).default({}).meta({
    label: 'Settings from the row',
    description:
      'Settings that each row brings for its own episodes: the name of the setting, and of the column.',
  }),
  maxTurns: z.int().min(1).max(100_000).nullable().default(null).meta({
    description: 'Turns of the policy after which an episode ends.',
    empty: 'the environment’s own limit',
  }),
  applyChatTemplate: z
    .boolean()
    .default(true)
    .describe('Observations become messages of the chat template; false: they are appended verbatim.'),
  strictBoundary: z
    .boolean()
    .default(true)
    .describe('A chat template that does not mark the end of turns is an error; false: ChatML is assumed.'),
  slidingWindow: z
    .boolean()
    .default(false)
    .describe('When the context is full the oldest turns leave the prompt; false: the episode ends.'),
  contextLength: z.int().min(2).max(10_000_000).nullable().default(null).meta({
    label: 'Context length of episodes',
    description: 'Tokens of prompt and completion of one turn.',
    empty: 'the model’s context',
  }),
  formatBonus: z
    .number()
    .min(-1_000_000)
    .max(1_000_000)
    .default(0)
    .describe('Added if an episode ends with a wrong answer inside <answer> tags.'),
})
