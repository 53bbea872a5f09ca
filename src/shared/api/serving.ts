/** Serves a model to other programs over an OpenAI-compatible API. */
import { z } from 'zod'
import { deviceOptions } from '../device.ts'
import { heldPrecisions, rolloutPrecisions } from '../precision.ts'
import { count, cursor, failure } from './common.ts'
import { command, feed, query } from './contract.ts'

/** Default number of completions per adapter that decode together. */
export const servedRows = 32

const status = z.discriminatedUnion('state', [
  z.object({ state: z.literal('off') }),
  z.object({ state: z.literal('starting'), model: z.string() }),
  z.object({
    state: z.literal('on'),
    model: z.string(),
    /** Base URL for clients. */
    address: z.string(),
    key: z.string(),
    contextLength: count,
    active: count,
    /** Totals since the start. */
    answered: count,
    tokens: count,
  }),
  /** State after a failed start, or the death of its process. */
  z.object({ state: z.literal('failed'), model: z.string(), error: failure }),
])

export type ServingStatus = z.infer<typeof status>

export const servingApi = {
  status: query(z.void(), status),
  /** Starts the server; resolves when it can be used. */
  start: command(
    z.object({
      model: z.string().min(1),
      /** 0: any free port. */
      port: z.int().min(0).max(65_535).default(0),
      /** Null: f32, and adapters trained on a rounded base are refused. */
      base: z.enum(heldPrecisions).nullable().default(null),
      precision: z.enum(rolloutPrecisions).default('f32'),
      device: z
        .object({ kind: z.enum(deviceOptions).nullable(), threads: z.int().min(1).nullable() })
        .default({ kind: null, threads: null }),
      contextLength: z.int().min(2).nullable().default(null),
      maxRows: z.int().min(1).max(64).default(servedRows),
    }),
    z.void(),
  ),
  stop: command(z.void(), z.void()),
  /** The key that the agents of a run show. */
  agentKey: query(z.void(), z.object({ key: z.string() })),
  /** Replaces the keys of programs and agents, which locks out holders of the old ones; only while the server is off. */
  renewKey: command(z.void(), z.object({ key: z.string() })),
  watch: feed(z.void(), z.object({ status, cursor })),
}
