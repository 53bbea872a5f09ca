/** The server that generates for a run: where it is, what it must give, how long it is waited for. */
import { z } from 'zod'

const absoluteFolder = z.string().regex(/^(?:\/|[A-Za-z]:[\\/]|\\\\)/, 'an absolute path')

const isWebAddress = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '')

export const rolloutServerSection = z.strictObject({
  kind: z.enum(['vllm', 'sglang']).describe('Which program serves the model.'),
  url: z
    .string()
    .refine(isWebAddress, 'an address that begins with http:// or https://')
    .describe('Where it listens, such as http://127.0.0.1:8000.'),
  adapterFolder: absoluteFolder.describe(
    'Folder that this machine writes and the server reads; every version of the adapter gets a folder in it.',
  ),
  serverAdapterFolder: absoluteFolder
    .nullable()
    .default(null)
    .describe('What the server calls that folder; null: the same.'),
  model: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('Name under which it serves the base model; null: the first one it lists.'),
  apiKeyVariable: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'the name of an environment variable')
    .nullable()
    .default(null)
    .describe('Environment variable that holds the key of the server; null: it asks for none.'),
  timeoutSeconds: z.number().positive().max(86_400).default(600).describe('Longest wait for one answer.'),
  retries: z
    .int()
    .min(0)
    .max(100)
    .default(10)
    .describe('How often a request that failed is made again, at growing intervals; 10 take two minutes.'),
  maxConcurrent: z.int().min(1).max(1024).default(64).describe('Completions asked for at once.'),
  keepVersions: z
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe('Versions of the adapter that stay loaded, the newest one included.'),
  gapLimit: z
    .number()
    .positive()
    .max(1000)
    .default(0.1)
    .describe(
      'Largest mean gap, in nats per token, between its log-probabilities and our own; a run ends rather than learn beyond it.',
    ),
  gapCompletions: z
    .int()
    .min(1)
    .max(100_000)
    .default(8)
    .describe('Completions of every rollout whose log-probabilities are compared with our own.'),
})
