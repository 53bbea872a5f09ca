/** This machine and this installation. */
import { z } from 'zod'
import { purposeNames } from '../connections.ts'
import { deviceKinds, type DeviceCheck, type DeviceReport } from '../device.ts'
import { count, cursor, progress, progressOr } from './common.ts'
import { command, feed, query, stream } from './contract.ts'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
const deviceReport = z.custom<DeviceReport>(isObject)
const deviceCheck = z.custom<DeviceCheck>(isObject)

const finding = z.object({
  name: z.string(),
  passed: z.boolean(),
  measured: z.number().nullable(),
  limit: z.number(),
  sentence: z.string(),
  broke: z.literal(true).optional(),
})

/** Data for the status strip. */
const load = z.object({
  cpuShare: z.number().min(0).max(1),
  /**
   * `training`: for each process that trains, its own memory and the pages of weight files it mapped, which the system
   * may drop; empty if the system does not tell.
   */
  memory: z.object({
    usedBytes: count,
    totalBytes: count,
    training: z.array(z.object({ runId: z.string(), privateBytes: count, mappedBytes: count })),
  }),
  /**
   * Load by training run: its device, null before the first report; its share of all processors, and the load of its
   * GPU, each null if the system does not tell.
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
  /** Requests to other machines by any process of this installation since its data directory was created. */
  outboundRequests: count,
  /**
   * Connections to other machines by this host and the processes it started, according to the system's table of
   * sockets. `since`: start of the observation; null if the system has no such table. `latest`: oldest first.
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
      /** Versions of the runtimes used for computation. */
      versions: z.record(z.string(), z.string()),
      platform: z.string(),
      /** `threads`: hardware threads; `defaultThreads`: default of a run. */
      cpu: z.object({ model: z.string(), physicalCores: count, threads: count, defaultThreads: count }),
      dataDirectory: z.string(),
      devices: z.array(deviceReport),
    }),
  ),
  load: query(z.void(), load),
  /** Requests to other machines for each purpose for which any are made. */
  requestsByPurpose: query(z.void(), z.record(z.enum(purposeNames), count)),
  /** Server that is told when a run has ended or has a problem; the rest of its address is a secret. Null: none. */
  webhook: query(z.void(), z.object({ origin: z.string().nullable() })),
  setWebhook: command(z.object({ address: z.string().max(2000).nullable() }), z.void()),
  /** Sends a line to try it. */
  testWebhook: command(z.void(), z.void()),
  /** Sends the load every few seconds while somebody watches. */
  watch: feed(z.void(), load.extend({ cursor })),
  /** Gradient checks and probe tasks; describes failures in words. */
  selftest: stream(
    z.object({ full: z.boolean().default(false), device: z.enum(deviceKinds).default('cpu') }),
    z.object({ progress, finding }),
  ),
  /** Results of device checks with the current driver and runtime; devices never checked are missing. */
  deviceChecks: query(z.void(), z.partialRecord(z.enum(deviceKinds), deviceCheck)),
  /** Runs the self-test on a device and compares its speed with the CPU; the result is stored. Null: it was cancelled. */
  checkDevice: stream(z.object({ device: z.enum(deviceKinds) }), progressOr(deviceCheck.nullable())),
  /** Measures operations per second of the CPU and of every device that passed its check; stored for model estimates. */
  measureSpeed: stream(z.void(), progressOr(z.null())),
  /** Disk use of the data directory, and the part that can be recreated. */
  storage: query(
    z.void(),
    z.array(
      z.object({ folder: z.string(), sizeBytes: count, isDisposable: z.boolean(), description: z.string() }),
    ),
  ),
  /** Files that ONNX Runtime’s telemetry left on this machine before it was turned off. */
  telemetryFiles: query(z.void(), z.array(z.string())),
  removeTelemetryFiles: command(z.void(), z.object({ removed: count })),
  clearCache: command(z.void(), z.object({ freedBytes: count })),
  /** Discards uploaded files that were not imported, except those of the last minute. */
  clearUploads: command(z.void(), z.object({ freedBytes: count })),
  /** Lists folders and files at a path of the host's machine, to choose a file without a system dialog. */
  browse: query(
    z.object({ path: z.string().max(4096).optional() }),
    z.object({
      path: z.string(),
      parent: z.string().nullable(),
      entries: z.array(z.object({ name: z.string(), isFolder: z.boolean(), sizeBytes: count.nullable() })),
    }),
  ),
  /** Uploaded files that were neither imported nor discarded, such as those of a tab that was closed; newest first. */
  uploads: query(z.void(), z.array(z.object({ uploadId: z.string(), name: z.string(), sizeBytes: count }))),
  discardUpload: command(z.object({ uploadId: z.string() }), z.void()),
}
