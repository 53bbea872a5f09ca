/** Data sets: importing, viewing and preparing them for runs. */
import { z } from 'zod'
import { toolsSetting } from '../config/sections.ts'
import {
  count,
  cursor,
  dataSetId,
  digest,
  fileSource,
  instant,
  name,
  path,
  progress,
  progressOr,
  row,
} from './common.ts'
import { command, feed, query, stream } from './contract.ts'
import { difficultyProcedures } from './difficulty.ts'
import { teachingProcedures } from './teaching.ts'

/** Steps from a file's columns to those a run reads; validated by the reader of data sets. */
const mapping = z.array(z.looseObject({ kind: z.string() })).max(200)
/** `data.prompt` of a run config, validated by that schema. */
const promptForm = z.record(z.string(), z.unknown())

const range = z.object({ min: z.number(), mean: z.number(), max: z.number() }).nullable()
const column = z.object({
  name: z.string(),
  /** Number of rows by kind of value. */
  kinds: z.record(z.string(), count),
  missing: count,
  /** Null: too many to count. */
  unique: count.nullable(),
  length: range,
  value: range,
  /** Number of rows by uninformative value: empty texts, placeholders such as nan, � for half a character. */
  odd: z.record(z.string(), count).optional(),
})
const problem = z.object({ number: count, line: count.nullable(), sentence: z.string() })

const shape = z.object({
  id: z.string(),
  title: z.string(),
  evidence: z.string(),
  isConversational: z.boolean(),
  mapping,
  prompt: promptForm.nullable(),
  answer: z.string().nullable(),
  /** Template of one of the columns, if there is no prompt; null: no column can be used in one. */
  template: z.string().nullable(),
  /** Columns that change the meaning of a row and that the proposal does not use. */
  leftAside: z.array(z.object({ column: z.string(), text: z.string() })),
  doubts: z.array(z.string()),
})

const version = z.object({
  id: z.string(),
  dataSetId: z.string(),
  directory: z.string(),
  unusable: z.string().nullable(),
  rows: count,
  sizeBytes: count,
  columns: z.array(column),
  source: z.string().nullable(),
  mapping,
  problems: count,
  createdAt: instant,
})

const dataSet = z.object({ id: z.string(), name: z.string(), createdAt: instant, versions: z.array(version) })

const token = z.object({ id: count, text: z.string() })
const pair = z.object({ first: count, second: count, text: z.string() })
const matches = z.object({ count, pairs: z.array(pair) })
const split = z.union([
  z.strictObject({ share: z.number().gt(0).lt(1), seed: count }),
  z.strictObject({ rows: z.int().min(1), seed: count }),
])

/** List to read from a JSON document with several. */
const splitName = z.string().min(1).max(200)

/** `owner/name`, or the address of its page. */
const hubAddress = z.string().min(1).max(500)

const one = z.object({ versionId: digest })
const prompts = z.object({
  versionId: digest,
  prompt: promptForm,
  model: path.optional(),
  /** Same as `data.tools` and `data.templateVariables` of a run config. */
  tools: toolsSetting.optional(),
  templateVariables: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
})

export const datasetsApi = {
  list: query(z.void(), z.array(dataSet)),
  get: query(z.object({ dataSetId }), dataSet),
  version: query(one, z.object({ version, shape, problems: z.array(problem) })),
  rows: query(
    z.object({ versionId: digest, from: count, count: z.int().min(1).max(500) }),
    z.object({ total: count, rows: z.array(row) }),
  ),

  /**
   * Queries the hub of the settings `hub.endpoint` and `hub.token` for the configs of a data set and their splits. The
   * first config is the default.
   */
  listOnHub: command(
    z.object({ address: hubAddress }),
    z.object({
      repo: z.string(),
      commit: z.string(),
      configs: z.array(
        z.object({
          name: z.string(),
          splits: z.array(z.object({ name: z.string(), files: count, sizeBytes: count })),
        }),
      ),
    }),
  ),
  /**
   * Downloads one split, keeping partial downloads. The result is an upload, to be inspected and imported: all its
   * files form one table. Without a config or split, the defaults.
   */
  fetch: stream(
    z.object({ address: hubAddress, config: z.string().optional(), split: z.string().optional() }),
    progressOr(z.object({ uploadId: z.string(), name: z.string() })),
  ),

  /** Returns the first rows of a file after the mapping, without importing anything. */
  inspect: query(
    z.object({
      source: fileSource,
      mapping: mapping.optional(),
      split: splitName.optional(),
      count: z.int().min(1).max(500).default(100),
    }),
    z.object({
      format: z.object({ id: z.string(), title: z.string() }),
      sizeBytes: count,
      /** Sentences on how the file was read: its encoding, the list that was read. */
      notes: z.array(z.string()),
      shape,
      columns: z.array(column),
      /** Sentences on uninformative values among the first rows. */
      oddValues: z.array(z.string()),
      rows: z.array(row),
      problems: z.array(problem),
      /** True if these are all rows of the file. */
      isWhole: z.boolean(),
    }),
  ),
  /** Ends with the version; equal rows give the same version. `dataSetId`: adds a new version to that data set. */
  import: stream(
    z.object({
      source: fileSource,
      name: name.optional(),
      dataSetId: dataSetId.optional(),
      mapping: mapping.optional(),
      split: splitName.optional(),
    }),
    progressOr(z.object({ dataSet, version, isNew: z.boolean(), problems: z.array(problem) })),
  ),
  rename: command(z.object({ dataSetId, name }), z.void()),
  delete: command(z.object({ dataSetId }), z.void()),

  /** Prompts as text and, with a model, as tokens. */
  preview: query(
    z.object({ ...prompts.shape, from: count.default(0), count: z.int().min(1).max(100).default(10) }),
    z.array(
      z.union([
        z.object({ row: count, text: z.string(), tokens: z.array(token).nullable() }),
        z.object({ row: count, problem: z.string() }),
      ]),
    ),
  ),
  /** Prompt lengths in tokens of the model; updated until every row is counted. */
  histogram: stream(
    prompts.extend({ model: path }),
    z.object({
      progress,
      /** Null: no row has made a prompt yet. */
      histogram: z
        .object({
          rows: count,
          problems: count,
          min: z.number(),
          mean: z.number(),
          median: z.number(),
          p95: z.number(),
          max: z.number(),
          /** Number of rows by length, shortest first. */
          lengths: z.array(z.tuple([z.number(), count])),
          bins: z.array(z.object({ from: z.number(), to: z.number(), count })),
        })
        .nullable(),
    }),
  ),
  /** Number of rows on each side; a run config contains the same rule. */
  split: query(z.object({ versionId: digest, split }), z.object({ train: count, heldOut: count })),
  /** Rows that are equal within and between the sides, ignoring white space and case. `columns` empty: the whole row. */
  leaks: query(
    z.object({
      versionId: digest,
      heldOut: z.union([split, z.strictObject({ versionId: digest })]),
      columns: z.array(z.string()).max(100).default([]),
    }),
    z.object({ trainDuplicates: matches, heldOutDuplicates: matches, leaks: matches }),
  ),
  ...difficultyProcedures,
  ...teachingProcedures,
  /** Reports changes of the list, also by other processes. */
  watch: feed(z.void(), z.object({ cursor })),
}

/** Common names of the column with the expected answer, likeliest first. */
export const answerColumns = [
  'answer',
  'final_answer',
  'ground_truth',
  'solution',
  'response',
  'output',
  'target',
  'label',
  'expected_answer',
  'reference',
] as const
