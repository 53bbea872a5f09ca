/** Commands that import from and export to other programs. */
import path from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import type { JsonObject } from '#shared/config/paths.ts'
import { csvOf } from '#shared/csv.ts'
import { AppError, problemSentence, usageError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { terminalJson } from '#shared/terminalText.ts'
import { toolIds, toolTitles, type ToolId } from '#shared/tools.ts'
import { createHost } from '#host/createHost.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { hasCard } from '#host/devices/deviceChoice.ts'
import { importConfig } from '#host/exchange/importConfig.ts'
import { exportProject, type ProjectRequest } from '#host/exchange/project/project.ts'
import type { ImportNote } from '#host/exchange/importNotes.ts'
import { algorithmIds } from '#host/exchange/toolAlgorithms.ts'
import { projectTools } from '#host/exchange/tools.ts'
import {
  baseOfCheckpoint,
  defaultShardBytes,
  exportDtypes,
  exportFormats,
  type ExportFormat,
  type ExportReport,
} from '#host/export/exports.ts'
import { isExport } from '#host/export/outgoing.ts'
import { writeUserFile } from '#host/files/atomic.ts'
import { readSmallText } from '#host/files/strictJson.ts'
import { hubIdFor, rememberHubId } from '#host/models/hubIds.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { requireKnownRewards } from '#host/code/resolveRewards.ts'
import { exportBundle, importBundle } from '#host/runs/runBundle.ts'
import { readRunConfig } from '#host/runs/runConfigFile.ts'
import { readState } from '#host/workFolder/checkpointState.ts'
import { openRunFolder } from '#host/workFolder/runFolder.ts'
import { checkpointChoices, resolveCheckpoint } from '#host/runs/runTarget.ts'
import { configOfRun } from '#host/runs/settingChanges.ts'
import { unfinishedWarnings } from '#host/runs/runVerdict.ts'
import type { Store } from '#host/store/store.ts'
import { force, real, type CommandContext, type Context, type OptionsOf } from '../command.ts'
import { hubEndpoint, pushExport } from '../hub.ts'
import type { Output } from '../output.ts'
import { createProgress, taskProgress } from '../progress.ts'

export const exportRun = (context: Context) =>
  new Command('export')
    .description(
      'Export the result of a run, read it back and compare it.\n\npeft: an adapter for transformers, vLLM and SGLang. merged: a complete model folder. gguf: an adapter for llama.cpp. gguf-model: the whole model in one file, with a Modelfile for Ollama. onnx: a graph with a key-value cache. Each comes with a report, parity.json.\n\n--push sends the files of the export to a hub, lists them first, and needs the access token in HF_TOKEN. An export on disk is pushed by its folder, without --format and --out.',
    )
    .argument(
      '<RUN_OR_CHECKPOINT>',
      'run id, folder of a run, a checkpoint or (with --push) an export, or name of a promoted adapter',
    )
    .addOption(new Option('--format <FORMAT>', 'format to write').choices(exportFormats))
    .option('--out <DIR>', 'output folder; new or empty')
    .addOption(
      new Option('--checkpoint <WHICH>', 'which checkpoint of a run')
        .choices(checkpointChoices)
        .default('last' as const),
    )
    .option('--model <MODEL>', 'base model, if it is not the one named in the run')
    .addOption(
      new Option(
        '--dtype <TYPE>',
        "data type (default f32; merged: the base's own; gguf-model: f16, or q8_0 or q4_k_m)",
      ).choices(exportDtypes),
    )
    .option('--base-id <ID>', 'what the base is called on a hub, such as Qwen/Qwen2.5-0.5B; remembered')
    .option('--shard-gb <GB>', 'largest weight file of a merged model', real(0.001), 5)
    .option('--adapter-inputs', 'onnx: keep the adapter separate, as inputs of the graph', false)
    .option(
      '--push <OWNER/NAME>',
      'send it to this new or empty repository of a hub; private, unless --public',
    )
    .option('--public', 'with --push: let everybody see it', false)
    .option(...hubEndpoint)
    .option('--trust-keys', 'allow HF_TOKEN to be sent to the hub, on this machine', false)
    .action(async (target, options) => {
      const { push } = options
      const here = context()
      const exported = () => exportedFolder(target, options, here)
      if (push !== undefined) await pushExport({ ...options, push }, here, exported)
      else if (options.public || options.trustKeys || options.endpoint !== undefined)
        throw usageError('Options --public, --trust-keys and --endpoint need --push.')
      else await exported()
    })

type ExportOptions = OptionsOf<typeof exportRun>

/** Returns the folder of an export, the given one or a new one. Errors: those of exporting. */
async function exportedFolder(target: string, options: ExportOptions, here: CommandContext): Promise<string> {
  const { format, out, push } = options
  if (format !== undefined && out !== undefined) return writeExport(target, { ...options, format, out }, here)
  if (push !== undefined && isExport(target)) return path.resolve(target)
  throw usageError(
    'Options --format and --out are required.',
    'Only an export on disk is pushed without them.',
  )
}

async function writeExport(
  target: string,
  options: ExportOptions & { readonly format: ExportFormat; readonly out: string },
  { dataDirectory, output, json }: CommandContext,
): Promise<string> {
  const { directory: checkpoint, fallBack } = resolveCheckpoint(dataDirectory, target, options.checkpoint)
  if (fallBack !== null) output.note(fallBack)
  const given = options.model === undefined ? null : findModel(options.model, dataDirectory)
  const { format, out, dtype = null, shardGb, adapterInputs, baseId = null } = options
  const shardBytes = Math.round((shardGb * defaultShardBytes) / 5)
  const base = baseOfCheckpoint(checkpoint, given)
  const { exportCheckpoint } = await import('#host/export/exporting.ts')
  const progress = createProgress(output, json)
  const hubId = hubIdFor(base.model, baseId, dataDirectory)
  const cacheDirectory = dataFolders(dataDirectory).cache
  const report = await exportCheckpoint(
    { format, out, dtype, shardBytes, adapterInputs, checkpoint, ...base, hubId, cacheDirectory },
    (news) => progress.update(taskProgress(news)),
  )
  progress.end()
  tell(report, checkpoint, output)
  rememberHubId(base.model, baseId, dataDirectory)
  return report.directory
}

const megabyte = 1e6

/** Reports an export. Errors: AppError 'checkpoint/invalid' if it differs from the trained model. */
function tell(report: ExportReport, checkpoint: string, output: Output): void {
  const { directory, files, parity, sizeBytes } = report
  const passed = parity.every((line) => line.passed)
  output.json({ checkpoint, passed, ...report })
  output.line(
    `Wrote ${plural(files.length, 'file')}, ${(sizeBytes / megabyte).toFixed(1)} MB, to ${directory}.`,
  )
  for (const line of parity) {
    const difference = `${Number(line.measured.toPrecision(3))}, allowed ${Number(line.limit.toPrecision(3))}`
    output.line(`${line.passed ? 'ok    ' : 'FAILED'}  ${line.sentence} Difference ${difference}.`)
  }
  if (passed) {
    for (const { tool, command } of report.openIn) output.line(`${tool}: ${command}`)
    return
  }
  throw new AppError(
    'checkpoint/invalid',
    'The exported files do not match the trained policy.',
    `Do not use ${directory}. The checkpoint itself is intact.`,
  )
}

export const exportNumbers = (context: Context) =>
  new Command('export')
    .description('Write everything known about a run, or its metrics, to one file')
    .argument('<RUN>', 'run id, an unambiguous part of it, or the folder of the run')
    .requiredOption('--out <FILE>', 'where to write it')
    .addOption(
      new Option('--format <FORMAT>', 'json has config, metrics and events; csv one row of metrics per step')
        .choices(['json', 'csv'])
        .default('json' as const),
    )
    .option(...force, false)
    .action(async (name, { out, format, force: overwrite }) => {
      const { dataDirectory, output } = context()
      const { id } = openRunFolder(dataDirectory, name)
      await using host = createHost({ dataDirectory, servesQueue: false })
      if (format === 'csv') writeUserFile(out, metricsTable(host.store, id), { overwrite })
      else exportBundle(host.store, id, out, { overwrite })
      output.json({ run: id, format, file: out })
      output.line(`Wrote ${out}.`)
    })

/** Formats metrics as CSV; missing numbers are empty cells. */
function metricsTable(store: Store, runId: string): string {
  const { metrics, rows } = store.metrics.table(runId)
  return csvOf(
    ['step', ...metrics],
    rows.map(({ step, values }) => [step, ...values]),
  )
}

export const importRun = (context: Context) =>
  new Command('import')
    .description('Import an exported run into the history, to view and compare it')
    .argument('<FILE>', 'json file written by `runs export`')
    .action(async (file) => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const { runId } = await importBundle(host, { path: file })
      output.json({ run: runId })
      output.line(`Imported ${runId}. Its checkpoints and samples stayed where it was trained.`)
    })

const startingPoints = ['none', 'last', 'best'] as const

export const writeRunProject = (context: Context) =>
  new Command('project')
    .description(
      'Write a run as a project for TRL or AgileRL.\n\nThe folder holds data, rewards behind a Node process, every setting spelled out, and a README that lists the differences from Turnwise.',
    )
    .argument('<RUN>', 'run id, folder of a run, or the config file of a run yet to be trained')
    .addOption(
      new Option('--tool <TOOL>', 'library to write for').choices(projectTools).default('trl' as const),
    )
    .requiredOption('--out <DIR>', 'folder to create')
    .addOption(
      new Option(
        '--checkpoint <WHICH>',
        'checkpoint whose adapter training starts from; none: as the run started',
      )
        .choices(startingPoints)
        .default('none' as const),
    )
    .action(async (run, { tool, out, checkpoint }) => {
      const { dataDirectory, output } = context()
      const source = run.endsWith('.json')
        ? await planned(run, dataDirectory)
        : trained(run, checkpoint, dataDirectory)
      const report = await exportProject({ ...source, tool, out })
      const { files, version, directory, fixtures } = report
      output.json(report)
      output.line(`Wrote ${plural(files.length, 'file')} for ${version} to ${directory}.`)
      if (fixtures > 0)
        output.line(
          `${plural(fixtures, 'sample checks', 'samples check')} that the rewards there match those of the run.`,
        )
      for (const note of report.notes) output.line(`Otherwise there: ${note}`)
      output.line(`Read ${path.join(directory, 'README.md')} first.`)
    })

type ProjectSource = Pick<ProjectRequest, 'config' | 'checkpoint' | 'runDirectory'>

async function planned(file: string, dataDirectory: string): Promise<ProjectSource> {
  const config = readRunConfig(file, dataDirectory)
  await requireKnownRewards(config, consentsFile(dataDirectory))
  return { config, checkpoint: null, runDirectory: null }
}

function trained(
  run: string,
  checkpoint: (typeof startingPoints)[number],
  dataDirectory: string,
): ProjectSource {
  const { directory } = openRunFolder(dataDirectory, run)
  const start =
    checkpoint === 'none' ? null : resolveCheckpoint(dataDirectory, directory, checkpoint).directory
  const step = start === null ? Infinity : readState(start).trainer.step
  return { config: configOfRun(directory, step), checkpoint: start, runDirectory: directory }
}

export const configs = (context: Context) =>
  new Command('config').description('Manage run configs of other tools').addCommand(importSettings(context))

const kinds: Readonly<Record<ImportNote['kind'], string>> = {
  'left-out': 'Not imported:',
  changed: 'Imported, with differences:',
  'filled-in': 'Filled in:',
}

const importSettings = (context: Context) =>
  new Command('import')
    .description(
      'Convert settings of TRL, AgileRL, AReaL, LLaMA-Factory or axolotl to a run config, and a search of AgileRL or W&B to the file of a study.\n\nThe first line on standard error says what the file was taken for, and why. Settings without a counterpart and defaults that were filled in are listed on standard error, with warnings about values that are probably mistakes.',
    )
    .argument(
      '<FILE>',
      'YAML, JSON, a Python file or notebook (which is not run), or a command with --flags or key=value arguments',
    )
    .addOption(
      new Option('--from <TOOL>', 'tool the settings are for (default: recognised by their names)').choices(
        toolIds,
      ),
    )
    .addOption(
      new Option(
        '--algorithm <ID>',
        'algorithm the settings are for (default: as the file says; asked for where it does not)',
      ).choices(algorithmIds),
    )
    .option('--out <FILE>', 'file to write the run config to (default: standard output)')
    .option(...force, false)
    .action((file, { from = null, algorithm = null, out, force: overwrite }) => {
      const { dataDirectory, json, output } = context()
      const choices = { algorithm, hasCard: hasCard(dataFolders(dataDirectory).cache) }
      const { reading, tool, config, study, notes } = importConfig(readSmallText(file), from, choices)
      const written = `${terminalJson({ ...config, ...study }, 2)}\n`
      if (out !== undefined) writeUserFile(out, written, { overwrite })
      const warnings = unfinishedWarnings(config)
      output.json({ reading, tool, config, study, notes, warnings, file: out ?? null })
      if (!json) output.note(reading)
      if (out === undefined) output.write(written)
      else output.line(`Wrote ${out} from ${sourceWords(tool)}.${startWords(study, out)}`)
      if (json) return
      for (const line of noteLines(notes)) output.note(line)
      for (const warning of warnings) output.note(`Warning: ${problemSentence(warning)}`)
    })

const sourceWords = (tool: ToolId | null): string =>
  tool === null ? 'the sweep' : `${toolTitles[tool]}'s settings`

const startWords = (study: JsonObject | null, file: string): string =>
  study === null ? '' : ` It is a ${Object.keys(study)[0]}: turnwise ${Object.keys(study)[0]} ${file}`

const noteLines = (notes: readonly ImportNote[]): string[] =>
  Object.entries(kinds).flatMap(([kind, heading]) => {
    const own = notes.filter((note) => note.kind === kind)
    return own.length === 0 ? [] : [heading, ...own.map(({ text: sentence }) => `  ${sentence}`)]
  })
