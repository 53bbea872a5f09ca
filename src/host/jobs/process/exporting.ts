/** Writes what a run learned for other programs. */
import { exportCheckpoint } from '#host/export/exporting.ts'
import type { ExportRequest } from '#host/export/exports.ts'
import type { ExportNews } from '#host/jobs/exportJobs.ts'
import type { Tools } from '#host/processes/job.ts'

/** Errors: those of `exportCheckpoint`. */
export async function exportAndTell(request: ExportRequest, { say }: Tools<ExportNews>): Promise<void> {
  const result = await exportCheckpoint(request, (progress) => void say({ progress }))
  await say({ result })
}
