/** Generation of completions by this machine, or by servers, synchronously or in parallel with learning. */
import { z } from 'zod'
import { isWebAddress, webAddressWords } from './addresses.ts'
import { rolloutPrecisions } from '../precision.ts'
import { defaultNewTokens, share, wholeNumber, maxSetting, maxTokenCount } from './settings.ts'

const absoluteFolder = z.string().regex(/^(?:\/|[A-Za-z]:[\\/]|\\\\)/, 'an absolute path')

const serverAddress = z.string().refine(isWebAddress, webAddressWords)

const rolloutServerSection = z.strictObject({
  kind: z.enum(['vllm', 'sglang']).meta({
    label: 'Kind of server',
    description: 'The program that serves the model; the same on all servers.',
    options: { vllm: 'vLLM', sglang: 'SGLang' },
  }),
  url: z
    .union([
      serverAddress,
      z
        .array(serverAddress)
        .min(1)
        .refine((urls) => new Set(urls).size === urls.length, 'each address once'),
    ])
    .meta({
      label: 'Addresses',
      description:
        'An address such as http://127.0.0.1:8000, or a list of them: several servers share the completions of a step.',
    }),
  adapterFolder: absoluteFolder.meta({
    label: 'Adapter folder',
    description:
      'Folder that this machine writes and every server reads; each version of the adapter gets a subfolder.',
  }),
  serverAdapterFolder: absoluteFolder.nullable().default(null).meta({
    label: 'Adapter folder on the server',
    description: 'The server’s path of that folder.',
    empty: 'the same',
  }),
  model: z.string().min(1).nullable().default(null).meta({
    label: 'Model on the server',
    description: 'The name under which the server serves the base model.',
    empty: 'the first one the server lists',
  }),
  apiKeyVariable: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'the name of an environment variable')
    .nullable()
    .default(null)
    .meta({
      label: 'Variable with the key',
      description: 'Environment variable that holds the key of the server.',
      empty: 'the server needs none',
    }),
  timeoutSeconds: z
    .number()
    .positive()
    .max(86_400)
    .default(600)
    .meta({ label: 'Timeout (s)', description: 'Longest wait for one answer.' }),
  retries: z
    .int()
    .min(0)
    .max(100)
    .default(10)
    .describe(
      'Retries of a failed request, at growing intervals; 10 take two minutes. Of several servers, one that does not answer is left out instead.',
    ),
  maxConcurrent: z.int().min(1).max(1024).default(64).meta({
    label: 'Max concurrent completions',
    description: 'Completions requested of a server at the same time.',
  }),
  keepVersions: z.int().min(1).max(64).default(2).meta({
    label: 'Adapter versions kept',
    description: 'Versions of the adapter that stay loaded, including the newest.',
  }),
  gapLimit: z.number().positive().max(1000).default(0.1).meta({
    label: 'Logprob mismatch limit (nats per token)',
    description:
      'Largest mean difference, in nats per token, between its log-probabilities and our own; above it, the run ends.',
  }),
  gapCompletions: z.int().min(1).max(100_000).default(8).meta({
    label: 'Completions compared',
    description: 'Completions of every rollout whose log-probabilities are compared with our own.',
  }),
})

const { kind, model, apiKeyVariable, timeoutSeconds, retries } = rolloutServerSection.shape

/** A server that scores the tokens of prompts; as the teacher of a run, it is asked for nothing else. */
export const teacherServerSection = z.strictObject({
  kind: kind.meta({ label: 'Kind of teacher’s server', description: 'The program that serves the teacher.' }),
  url: serverAddress.meta({
    label: 'Address of the teacher',
    description: 'An address such as http://127.0.0.1:8000.',
  }),
  model: model.meta({
    label: 'Name of the teacher',
    description: 'The name under which the server serves the teacher.',
  }),
  apiKeyVariable: apiKeyVariable.meta({ label: 'Variable with the teacher’s key' }),
  timeoutSeconds: timeoutSeconds.meta({ label: 'Timeout of the teacher (s)' }),
  retries: retries.meta({
    label: 'Retries of the teacher',
    description: 'Retries of a failed request, at growing intervals; 10 take two minutes.',
  }),
})

const workflowSection = z.strictObject({
  function: z
    .string()
    .min(1)
    .meta({ label: 'File', description: 'Path of the .ts or .js file of the workflow.' }),
  settings: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Settings of the workflow.'),
})

const agentSection = z.strictObject({
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(8790)
    .meta({ label: 'Port', description: 'Port of the address on this machine; 0 picks any free one.' }),
  maxSessions: z.int().min(1).max(1024).default(128).meta({
    label: 'Max concurrent sessions',
    description: 'Sessions open at a time; more than the model answers together keep it busy.',
  }),
  silenceSeconds: z.number().positive().max(86_400).default(600).meta({
    label: 'Longest silence (s)',
    description: 'A session in which the agent asks for nothing for so long is over.',
  }),
  silent: z
    .enum(['leave-out', 'zero'])
    .default('leave-out')
    .meta({
      label: 'Silent sessions',
      description: 'What counts of a session whose agent fell silent.',
      options: { 'leave-out': 'nothing: it is left out', zero: 'its tokens, with reward 0' },
    }),
})

export const rolloutSection = z.strictObject({
  promptsPerStep: wholeNumber(1, 100_000).default(8).meta({
    label: 'Prompts per step',
    description: 'Prompts drawn in every step; of demonstrations and preferences: rows.',
  }),
  groupSize: wholeNumber(1, 10_000)
    .nullable()
    .default(null)
    .meta({ description: 'Completions per prompt.', empty: 'the algorithm’s default' }),
  precision: z
    .enum(rolloutPrecisions)
    .default('f32')
    .meta({
      label: 'Rollout precision',
      description:
        'int8 generates about twice as fast from rounded weights, while learning reads exact ones; f32 with a rounded `base`.',
      options: { f32: 'f32: exact', int8: 'int8: faster' },
    }),
  temperature: z
    .number()
    .positive()
    .max(100)
    .default(1)
    .describe('Above 1 is more varied, below 1 more certain.'),
  topK: wholeNumber(0, maxTokenCount)
    .default(0)
    .meta({ label: 'Top-k', description: 'Only the k likeliest tokens; 0 is off.' }),
  topP: z.number().gt(0).max(1).default(1).meta({
    label: 'Top-p',
    description: 'Only the likeliest tokens up to this total probability; 1 is off.',
  }),
  minP: share.default(0).meta({
    label: 'Min-p',
    description: 'Only tokens at least this likely relative to the likeliest; 0 is off.',
  }),
  repetitionPenalty: z
    .number()
    .positive()
    .max(100)
    .default(1)
    .describe('Makes repeated tokens less likely; 1 is off.'),
  minNewTokens: wholeNumber(0, maxTokenCount)
    .default(0)
    .meta({ label: 'Min new tokens', description: 'A completion cannot end before this length.' }),
  maxNewTokens: wholeNumber(1, maxTokenCount)
    .default(defaultNewTokens)
    .meta({ label: 'Max new tokens', description: 'A completion is truncated at this length.' }),
  stopStrings: z.array(z.string().min(1)).default([]).describe('A completion ends at any of these.'),
  mismatchCorrection: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe(
      'Weighs tokens by learner over sampler probability; auto: on if rollouts or the base are quantised, or rollouts come from a server.',
    ),
  mismatchCap: z.number().positive().max(maxSetting).default(2).describe('Upper limit of that weight.'),
  mismatchMode: z
    .enum(['truncate', 'mask'])
    .default('truncate')
    .describe(
      'For tokens whose weight exceeds the limit: truncate sets it to the limit, mask removes the token from the policy term.',
    ),
  routerReplay: z.boolean().default(false).meta({
    label: 'Router replay',
    description:
      'With a mixture of experts: learning sends every token through the experts that it went through when it was sampled.',
  }),
  replayShare: share.default(0).meta({
    label: 'Replay share',
    description:
      'Share of a step’s prompts that may be rows drawn before and not solved, oldest first; 0 is off.',
  }),
  replaySolvedAt: z.number().min(-maxSetting).max(maxSetting).default(0.75).meta({
    label: 'Solved at reward',
    description: 'With a replay share: a row is solved when the mean reward of its completions reaches this.',
  }),
  replayTries: wholeNumber(1, 1000).default(3).meta({
    label: 'Replay tries',
    description: 'How often an unsolved row comes again before it waits for its next pass.',
  }),
  workflow: workflowSection.nullable().default(null).meta({
    label: 'Workflow',
    description:
      'Code that says how an episode goes: which requests it makes and which trajectories come of it.',
    empty: 'the policy answers each prompt, or plays the environment',
  }),
  agent: agentSection.nullable().default(null).meta({
    label: 'Agent',
    description:
      'A program of yours acts in the episodes: it talks to the model at an OpenAI-style address of this machine and says how well it did.',
    empty: 'none',
  }),
  server: rolloutServerSection.nullable().default(null).meta({
    label: 'Rollout server',
    description: 'vLLM or SGLang servers that generate instead of this machine.',
    empty: 'none',
  }),
  maxStaleness: wholeNumber(0, 64).default(0).meta({
    label: 'Max staleness (steps)',
    description:
      '0: rollouts and updates take turns. k > 0: rollout servers generate during updates, and completions come from a policy at most k steps behind the one being trained.',
  }),
})
