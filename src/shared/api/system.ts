/** This machine and this installation. */
import { z } from 'zod'
import { deviceKinds, type DeviceCheck, type DeviceReport } from '../device.ts'
import { count, cursor, progress, progressOr } from './common.ts'
import { command, feed, query, stream } from './contract.ts'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
const deviceReport = z.custom<DeviceReport>(isObject)
const deviceCheck = z.custom<DeviceCheck>(isObject)

const finding = z.object({
  name: z.string(),
  passed: z.boolean(),
  measured: z.number(),
  limit: z.number(),
  sentence: z.string(),
})

/** What the foot of the window shows. */
const load = z.object({
  cpuShare: z.number().min(0).max(1),
  /**
   * `training`: of each process that trains, what it allocated and the pages of weight files it mapped, which the system
   * may drop; empty where the system does not tell.
   */
  memory: z.object({
    usedBytes: count,
    totalBytes: count,
    training: z.array(z.object({ runId: z.string(), privateBytes: count, mappedBytes: count })),
  }),
  /**
   * Of each run that trains: where it computes, null until it has said so; its share of all processors, and what its
   * graphics card is busy with, each null where the system does not tell.
   */
  runs: z.array(
    z.object({
      runId: z.string(),
      device: z.enum(deviceKinds).nullable(),
      cpuShare: z.number().min(0).max(1).nullable(),
      card: z
        .object({ usedBytes: count, totalBytes: count, share: z.number().min(0).max(1).nullable() })
        .nullable(),
    }),
  ),
  disk: z.object({ freeBytes: count, turnwiseBytes: count }),
  /** To other machines, by any process of this installation since its data directory was made. */
  outboundRequests: count,
  /**
   * To other machines, by this host and the processes it started, as the system's own table of sockets shows them.
   * `since`: when it began to look; null where the system has no such table. `latest`: oldest first.
   */
  connections: z.object({
    since: z.number().nullable(),
    count,
    latest: z.array(
      z.object({
        protocol: z.enum(['tcp', 'udp']),
        address: z.string(),
        port: count,
        pid: count,
        seenAt: z.number(),
      }),
    ),
  }),
})

export const systemApi = {
  info: query(
    z.void(),
    z.object({
      version: z.string(),
      /** Of the runtimes it computes with. */
      versions: z.record(z.string(), z.string()),
      platform: z.string(),
      /** `threads`: hardware threads; `defaultThreads`: those of a run that does not say otherwise. */
      cpu: z.object({ model: z.string(), physicalCores: count, threads: count, defaultThreads: count }),
      dataDirectory: z.string(),
      devices: z.array(deviceReport),
    }),
  ),
  load: query(z.void(), load),
  /** Every few seconds while someone looks. */
  watch: feed(z.void(), load.extend({ cursor })),
  /** Gradient checks and probe tasks; says in words what is wrong. */
  selftest: stream(
    z.object({ full: z.boolean().default(false), device: z.enum(deviceKinds).default('cpu') }),
    z.object({ progress, finding }),
  ),
  /** What was found of each device, with the driver and the runtime there are now; nothing of one that nobody checked. */
  deviceChecks: query(z.void(), z.partialRecord(z.enum(deviceKinds), deviceCheck)),
  /** The self-test on a device, and how fast it is beside the CPU; the answer is kept. null: it was cancelled. */
  checkDevice: stream(z.object({ device: z.enum(deviceKinds) }), progressOr(deviceCheck.nullable())),
  /** How much the CPU, and every device that passed its check, computes in a second; kept for estimates of models. */
  measureSpeed: stream(z.void(), progressOr(z.null())),
  /** What takes up the data directory, and what of it can be made again. */
  storage: query(
    z.void(),
    z.array(
      z.object({ folder: z.string(), sizeBytes: count, isDisposable: z.boolean(), description: z.string() }),
    ),
  ),
  /** What ONNX Runtime’s telemetry left on this machine before it was turned off. */
  telemetryFiles: query(z.void(), z.array(z.string())),
  removeTelemetryFiles: command(z.void(), z.object({ removed: count })),
  clearCache: command(z.void(), z.object({ freedBytes: count })),
  /** Discards uploaded files that were not imported, but for those of the last minute. */
  clearUploads: command(z.void(), z.object({ freedBytes: count })),
  /** Folders and files at a path of the machine of the host, to choose a file where there is no dialog of the system. */
  browse: query(
    z.object({ path: z.string().max(4096).optional() }),
    z.object({
      path: z.string(),
      parent: z.string().nullable(),
      entries: z.array(z.object({ name: z.string(), isFolder: z.boolean(), sizeBytes: count.nullable() })),
    }),
  ),
  discardUpload: command(z.object({ uploadId: z.string() }), z.void()),
}
