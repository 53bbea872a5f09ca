/** Jobs that write what a run learned for other programs. */
import type { ProjectReport, ProjectRequest } from '#host/exchange/project/project.ts'
import type { ExportProgress, ExportReport, ExportRequest } from '#host/export/exports.ts'
import type { Job } from '#host/processes/job.ts'

/** Progress of an export, and at last its report. */
export type ExportNews = { readonly progress: ExportProgress } | { readonly result: ExportReport }

export const exportJob: Job<'export', ExportRequest, ExportNews> = { name: 'export' }

/** Needs no runtime, but the model's tokenizer on every row. */
export const projectJob: Job<'project export', ProjectRequest, ProjectReport> = { name: 'project export' }
