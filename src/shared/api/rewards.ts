/** Custom rewards, environments, losses and workflows: versions, dry runs, test cases. */
import { z } from 'zod'
import { judgeFunction } from '../config/judge.ts'
import { chat, count, cursor, digest, instant, name, path, progress, row } from './common.ts'
import { command, feed, query, stream } from './contract.ts'

const rewardId = z.string().regex(/^rw_[0-9a-f-]{36}$/)
const kind = z.enum(['reward', 'environment', 'loss', 'workflow'])
const language = z.enum(['js', 'ts'])
const settings = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))

/** Code from an editor, or a saved version. */
export const code = z.union([
  z.strictObject({ language, code: z.string().max(500_000) }),
  z.strictObject({ rewardId, version: digest }),
])

/** Python entry of a config: a file, or the id of a package. It only runs where this machine allows it. */
const python = z.strictObject({ python: z.string().min(1).max(10_000), interpreter: path.nullable() })

/** Judge model with the settings that accompany it. */
const judge = z.strictObject({ builtIn: z.literal(judgeFunction) })

const reward = z.object({ id: z.string(), kind, name: z.string(), createdAt: instant, versions: count })

const version = z.object({
  rewardId: z.string(),
  hash: z.string(),
  language,
  code: z.string(),
  /** Path of the code, as run configs name it. */
  file: z.string(),
  note: z.string(),
  /** True if no run may start with it until its test cases pass. */
  gatesStart: z.boolean(),
  createdAt: instant,
})

const testCase = z.object({
  name: z.string().min(1).max(200),
  prompt: z.string().default(''),
  completion: z.string(),
  row: row.default({}),
  settings: settings.default({}),
  /** Expected total; `equals` null: the reward must not apply. */
  expect: z.object({
    min: z.number().optional(),
    max: z.number().optional(),
    equals: z.number().nullable().optional(),
  }),
})

/** Failure of user code on one sample. */
export const codeFailure = z.object({
  kind: z.enum(['exception', 'timeout', 'memory', 'stack', 'not-a-number', 'wrong-type', 'too-large']),
  message: z.string(),
  /** Position in the code as written, from 1. */
  line: count.nullable(),
  column: count.nullable(),
})

/** Scores of one sample by the functions of the code. */
const score = z.object({
  /** Sum of the parts that apply; null if none does. */
  total: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()),
  failures: z.record(z.string(), codeFailure),
  /** Logged values: for inspection, for charts, and as lines. */
  columns: z.record(z.string(), z.unknown()),
  metrics: z.record(z.string(), z.number()),
  lines: z.array(z.string()),
  durationMs: z.number(),
})

const playedTurn = z.object({
  /** Null: the opening. */
  action: z.string().nullable(),
  /** Next input of the policy: the text of a user message, or messages; null if there is none. */
  observation: z.union([z.string(), chat.readonly()]).nullable(),
  reward: z.number().nullable(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  state: z.unknown(),
  /** Logged values: for inspection, for charts, and as lines. */
  columns: z.record(z.string(), z.unknown()),
  metrics: z.record(z.string(), z.number()),
  lines: z.array(z.string()),
  failure: codeFailure.nullable(),
})

const sampleInput = z.object({ prompt: z.string(), completion: z.string(), row })

const someRows = z.object({
  versionId: digest,
  from: count.default(0),
  count: z.int().min(1).max(200).default(20),
  /** `data.prompt` of a run config. */
  prompt: z.record(z.string(), z.unknown()),
  /** Model whose chat template formats messages; without it they are plain text. */
  model: path.optional(),
})

/** Rows of a data set with the completion taken from a column, or freshly generated. */
const dryRunRows = someRows.extend({
  completions: z.union([
    z.strictObject({ column: z.string() }),
    /** Generation by `model`, which is required. */
    z.strictObject({
      adapter: path.optional(),
      temperature: z.number().positive().default(1),
      maxNewTokens: z.int().min(1).max(4096).default(256),
      seed: count.default(42),
    }),
  ]),
})

export const rewardsApi = {
  list: query(z.object({ kind: kind.optional() }), z.array(reward)),
  /** Newest version first. */
  versions: query(z.object({ rewardId }), z.array(version)),
  create: command(z.object({ kind, name }), reward),
  rename: command(z.object({ rewardId, name }), z.void()),
  delete: command(z.object({ rewardId }), z.void()),
  /** Saves a version; equal code is the same version. */
  save: command(
    z.object({
      rewardId,
      language,
      code: z.string().max(500_000),
      note: z.string().max(2000).optional(),
      gatesStart: z.boolean().optional(),
    }),
    version,
  ),
  /** Gallery: code to read and copy, including built-in functions. */
  gallery: query(
    z.void(),
    z.array(
      z.object({
        id: z.string(),
        kind,
        title: z.string(),
        description: z.string(),
        language: language.nullable(),
        code: z.string().nullable(),
        /** Defaults by name; null for code, whose settings `check` returns. */
        settings: settings.nullable(),
        examples: z.array(testCase),
      }),
    ),
  ),
  /** Loads the code without running it on anything: returns its functions, or the place of an error. */
  check: query(
    z.object({ code: z.union([code, python]) }),
    z.union([
      z.object({ kind, functions: z.array(z.string()), settings }),
      z.object({ problem: codeFailure }),
    ]),
  ),
  /** Scores the given samples, or rows of a data set; `index` counts from 0, and fresh completions arrive as they finish. */
  dryRun: stream(
    z.object({
      code: z.union([code, python, judge]),
      settings: settings.default({}),
      on: z.union([z.array(sampleInput).min(1).max(200), dryRunRows]),
    }),
    z.union([
      z.object({ progress, index: count, input: sampleInput, score }),
      /** Row that yielded no sample. */
      z.object({ progress, index: count, problem: z.string() }),
    ]),
  ),

  /**
   * Plays an episode of an environment by hand: its opening and a turn for every action. Deterministic, so a further
   * action is requested together with those before it. Actions after the end are not played.
   */
  play: query(
    z.object({
      code: z.union([code, python, z.strictObject({ builtIn: z.string() })]),
      settings: settings.default({}),
      row: row.default({}),
      seed: count.default(42),
      actions: z.array(z.string().max(20_000)).max(200).default([]),
    }),
    z.object({
      /** Default limit of turns per episode. */
      maxTurns: count,
      turns: z.array(playedTurn),
    }),
  ),

  tests: query(z.object({ rewardId }), z.array(testCase)),
  setTests: command(z.object({ rewardId, tests: z.array(testCase).max(500) }), z.void()),
  /** `code` omitted: the newest version. */
  runTests: query(
    z.object({ rewardId, code: code.optional() }),
    z.array(z.object({ name: z.string(), passed: z.boolean(), sentence: z.string(), score })),
  ),
  /** Tries to get a reward without deserving it, on rows of a data set. `honest`: column with a good completion. */
  battery: query(
    z.object({
      code: z.union([code, python, judge]),
      settings: settings.default({}),
      on: someRows.extend({ honest: z.string().optional() }),
    }),
    z.object({
      /** Mean reward of honest completions; 1 if none are known. */
      honestMean: z.number(),
      cheats: z.array(
        z.object({
          id: z.string(),
          /** Null: the reward did not apply. */
          mean: z.number().nullable(),
          passed: z.boolean(),
          sentence: z.string(),
          example: z.string(),
        }),
      ),
    }),
  ),
  /** Lists runs that were trained with a version of it. */
  usedBy: query(z.object({ rewardId }), z.array(z.object({ runId: z.string(), version: z.string() }))),
  watch: feed(z.void(), z.object({ cursor })),
}
