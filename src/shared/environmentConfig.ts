/** The section `environment` of the run config. */
import { z } from 'zod'

export const environmentSchema = z.strictObject({
  function: z.string().min(1).describe('Id of a built-in environment, or the path of a .ts or .js file.'),
  settings: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Settings of the environment.'),
  maxTurns: z
    .int()
    .min(1)
    .max(100_000)
    .nullable()
    .default(null)
    .describe('Turns of the policy after which an episode ends; null: what the environment suggests.'),
  applyChatTemplate: z
    .boolean()
    .default(true)
    .describe('Observations become messages of the chat template; false: they are read as they are.'),
  strictBoundary: z
    .boolean()
    .default(true)
    .describe('A chat template that does not show where turns end is an error; false: ChatML is assumed.'),
  slidingWindow: z
    .boolean()
    .default(false)
    .describe('When the context is full the oldest turns leave the prompt; false: the episode ends.'),
  contextLength: z
    .int()
    .min(2)
    .max(10_000_000)
    .nullable()
    .default(null)
    .describe('Tokens of prompt and completion of one turn; null: what the model reads.'),
  formatBonus: z
    .number()
    .min(-1_000_000)
    .max(1_000_000)
    .default(0)
    .describe('Added where an episode ends with a wrong answer that at least stands in <answer> tags.'),
})
