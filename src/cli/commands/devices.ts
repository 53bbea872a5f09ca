/** Commands about devices. */
import { devNull } from 'node:os'
import { Argument, Command, Option } from '@commander-js/extra-typings'
import {
  deviceKinds,
  deviceRemarks,
  deviceTitles,
  oldestCudaDriver,
  type DeviceCheck,
  type DeviceKind,
  type DeviceReport,
  type DeviceSpeed,
} from '#shared/device.ts'
import { AppError, usageError } from '#shared/errors.ts'
import { createHost } from '#host/createHost.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { readCudaManifest } from '#host/devices/cudaManifest.ts'
import { checkDevice, deviceListJob, type CheckNews, type DeviceList } from '#host/jobs/deviceCheck.ts'
import { deviceFile, type CheckedDevice } from '#host/devices/deviceFile.ts'
import { readCheck, type SelftestFinding } from '#host/devices/deviceRecords.ts'
import { measureMachine } from '#host/jobs/throughput.ts'
import { planCuda, type CudaPlan } from '#host/devices/installCuda.ts'
import { cudaEnvironment, removeCuda, requireCudaManifest } from '#host/devices/installedCuda.ts'
import { installFrom, packageIndex } from '#host/api/librariesService.ts'
import { requireFree, writeUserFile } from '#host/files/atomic.ts'
import { createAsk, firstItem, jobStarter, type Ask } from '#host/processes/job.ts'
import { force, type CommandContext, type Context, group } from '../command.ts'
import { follow, orAbsent } from '../hub.ts'
import { watchInterrupts } from '../interrupt.ts'
import { megabytes, type Output } from '../output.ts'
import { createProgress } from '../progress.ts'
import { plan } from './devicePlan.ts'
import { failure, findingLine, summaryLines } from './checks.ts'

export const devices = (context: Context) =>
  group(context, 'device', 'Manage devices', [list, check, measure, plan, report, install, remove])

/** Queries devices in separate processes, which a driver may crash, and discards the drivers' output. */
const askQuietly = (dataDirectory: string): Ask =>
  createAsk(
    (job, options) => jobStarter()(job, { ...options, logFile: devNull }),
    () => cudaEnvironment(dataDirectory),
  )

/** Tries every kind of device in a process of its own. */
const askDevices = (dataDirectory: string): Promise<DeviceList> =>
  firstItem(askQuietly(dataDirectory)(deviceListJob, null, new AbortController().signal))

function checkWords({ checks, failures, problem, speeds, with: words, at }: DeviceCheck): string {
  const when = `on ${new Date(at).toISOString().slice(0, 10)} with ${words}`
  if (problem !== null) return `Its check did not finish ${when}. ${problem}`
  const [first] = failures
  if (first !== undefined)
    return `Computes wrong results: ${String(failures.length)} of ${String(checks)} checks failed ${when}, first ${first.name}.`
  const passed = `All ${String(checks)} checks passed ${when}.`
  return speeds.length === 0 ? passed : `${passed} Against the CPU: ${speeds.map(speedWords).join(', ')}.`
}

const speedWords = ({ parameters, ratio }: DeviceSpeed): string => {
  const model = `a model of ${String(Math.round(parameters / 1e6))} million parameters`
  return ratio === null ? `far slower on ${model}` : `${ratio.toPrecision(2)} times as fast on ${model}`
}

const gigabytes = (bytes: number): string =>
  bytes < 5e7 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`

const list = (context: Context) =>
  new Command('list')
    .description('List the devices, whether they were checked, and what is missing')
    .action(async () => {
      const { dataDirectory, output } = context()
      const { cache } = dataFolders(dataDirectory)
      const { devices: reports } = await askDevices(dataDirectory)
      const manifest = readCudaManifest()
      const library = manifest === null ? null : planCuda(dataDirectory, manifest)
      const rows = reports.map((each) => ({
        ...each,
        remarks: deviceRemarks(each.kind),
        check: each.available ? readCheck({ kind: each.kind, deviceId: 0 }, cache) : null,
      }))
      output.json({ devices: rows, cudaLibrary: library })
      for (const row of rows) {
        const [first = '', ...others] = sentences(row, library)
        output.line(`${row.kind.padEnd(8)}${first}`)
        for (const line of others) output.line(`${' '.repeat(8)}${line}`)
      }
    })

type Row = DeviceReport & { readonly remarks: readonly string[]; readonly check: DeviceCheck | null }

function sentences(row: Row, library: CudaPlan | null): string[] {
  const { kind, check, remarks } = row
  if (!row.available) {
    return [
      `Not available. ${row.reason}`,
      `${row.hint} ${row.command}`.trim(),
      ...(kind === 'cuda' ? libraryLines(library) : []),
      ...remarks,
    ]
  }
  if (check !== null) return [checkWords(check), ...remarks]
  return [kind === 'cpu' ? 'Always there.' : `Not checked yet: turnwise device check ${kind}`, ...remarks]
}

const libraryLines = (library: CudaPlan | null): string[] =>
  library === null || library.isInstalled
    ? []
    : [
        `The library: ${gigabytes(library.downloadBytes)} to download, ${gigabytes(library.installedBytes)} on disk.`,
      ]

const check = (context: Context) =>
  new Command('check')
    .description(
      'Check a device: run the self-test on it and compare its speed with the CPU’s. The result is kept.\n\nThe checks run in separate processes. A run with device auto uses the fastest device that passed. turnwise selftest --device tests in more detail.',
    )
    .addArgument(new Argument('<DEVICE>', 'device to check').choices(deviceKinds))
    .action(async (kind) => {
      const { dataDirectory, output } = context()
      const stopping = () => output.note('Stopping; this check is discarded.')
      using interrupt = watchInterrupts(stopping, stopping)
      const { check: found, findings } = await followCheck(
        newsOf(kind, dataDirectory, interrupt.gently),
        output,
      )
      if (found === null) throw new AppError('api/cancelled', 'The check was stopped.')
      output.json({ device: kind, ...found })
      for (const line of summaryLines(findings)) output.line(line)
      output.line(`${deviceTitles[kind]}: ${checkWords(found)}`)
      const failed = findings.filter(({ passed }) => !passed)
      if (failed.length > 0) throw failure(failed, findings.length)
      if (found.problem !== null)
        throw new AppError(
          'device/unsound',
          found.problem,
          'Update the graphics driver; until then auto skips this device.',
        )
    })

const measure = (context: Context) =>
  new Command('measure')
    .description(
      'Measure how fast this machine generates and learns: the CPU, and every device that passed its check. The result is kept for the estimates of model list --known.\n\nA small random model is used, with its base in f32, int8 and int4.',
    )
    .action(async () => {
      const { dataDirectory, output } = context()
      const stopping = () => output.note('Stopping; what was measured is kept.')
      using interrupt = watchInterrupts(stopping, stopping)
      const cacheDirectory = dataFolders(dataDirectory).cache
      const measuring = { ask: askQuietly(dataDirectory), cacheDirectory, signal: interrupt.gently }
      for await (const news of measureMachine(measuring)) {
        if ('on' in news) output.note(`Measuring ${deviceTitles[news.device]} with a base in ${news.on}.`)
        else {
          output.json({ device: news.device, ...news.measured })
          output.line(
            `${deviceTitles[news.device]}: measured. turnwise model list --known shows the estimates.`,
          )
        }
      }
    })

const newsOf = (kind: DeviceKind, dataDirectory: string, signal: AbortSignal) =>
  checkDevice({
    ask: askQuietly(dataDirectory),
    place: { kind, deviceId: 0 },
    cacheDirectory: dataFolders(dataDirectory).cache,
    signal,
  })

interface Followed {
  /** Null if it was stopped. */
  readonly check: DeviceCheck | null
  readonly findings: readonly SelftestFinding[]
}

async function followCheck(
  news: AsyncGenerator<CheckNews, DeviceCheck | null>,
  output: Output,
): Promise<Followed> {
  const findings: SelftestFinding[] = []
  output.note('Testing whether it computes correctly.')
  for (;;) {
    const { done, value } = await news.next()
    if (done === true) return { check: value, findings }
    if ('finding' in value) {
      findings.push(value.finding)
      if (!value.finding.passed) output.line(findingLine(value.finding))
    } else if ('on' in value.measured) {
      const { on, parameters } = value.measured
      const what = on === 'cpu' ? 'the CPU' : 'the device'
      output.note(`Measuring ${what} with ${(parameters / 1e6).toFixed(0)} million parameters.`)
    }
  }
}

const defaultName = 'turnwise-devices.json'

const report = (context: Context) =>
  new Command('report')
    .description(
      'Check the devices and write a report to send to the project.\n\nThe report lists the GPUs, their drivers, the versions of runtime and system, the processor and the results of the checks, but no paths and no names of the machine or its user. Read it, and attach it to an issue in the project’s tracker. Nothing is sent automatically.',
    )
    .addOption(
      new Option('--device <KIND>', 'only this device (default: all that can be started here)').choices(
        deviceKinds,
      ),
    )
    .option('--out <FILE>', 'file to write', defaultName)
    .option(...force, false)
    .action(async ({ device: only, out: file, force: overwrite }) => {
      const here = context()
      const { output } = here
      requireFree(file, { overwrite }) // before the long work
      const { devices: known } = await askDevices(here.dataDirectory)
      const checked: CheckedDevice[] = []
      for (const device of known.filter(({ kind }) => only === undefined || kind === only))
        checked.push({ ...device, check: await checkOf(device, here) })
      const written = deviceFile(checked)
      writeUserFile(file, `${JSON.stringify(written, null, 2)}\n`, { overwrite })
      output.json({ file, report: written })
      for (const { kind, check: found } of written.devices) {
        output.line(`${kind.padEnd(8)}${found === null ? 'Not available.' : checkWords(found)}`)
      }
      output.line(`Wrote ${file}. Read it, and attach it to an issue in the project’s tracker.`)
    })

/** Returns the stored or a new check; null if it cannot be started or was stopped. */
async function checkOf(
  { kind, available }: DeviceReport,
  { dataDirectory, output }: CommandContext,
): Promise<DeviceCheck | null> {
  if (!available) return null
  const known = readCheck({ kind, deviceId: 0 }, dataFolders(dataDirectory).cache)
  if (known !== null) return known
  output.note(`Checking ${kind}. This may take minutes.`)
  const stopping = () => output.note('Stopping this check; the report will not include it.')
  using interrupt = watchInterrupts(stopping, stopping)
  const news = newsOf(kind, dataDirectory, interrupt.gently)
  for (;;) {
    const { done, value } = await news.next()
    if (done === true) return value
  }
}

/** Argument for devices with a downloadable library, which only CUDA has. */
const installable = () =>
  new Argument('<DEVICE>', 'only cuda; the other devices need no library').choices(['cuda'])

const install = (context: Context) =>
  new Command('install')
    .description(
      'Download the CUDA library, which does not come with the program.\n\nIt is installed in the data directory; the program itself is not changed. Interrupted installations resume. The command contacts only the package index and the servers where the index keeps its files.',
    )
    .addArgument(installable())
    .option('--yes', 'download and install instead of only printing the sizes', false)
    .option(
      '--index <URL>',
      'package index (default: PIP_INDEX_URL, or else the one in the settings, or else PyPI)',
    )
    .action(async (_device, { yes, index }) => {
      const { dataDirectory, json, output } = context()
      const manifest = requireCudaManifest()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const progress = createProgress(output, json)
      const stopping = () =>
        progress.note('Stopping. The partial download is kept; the same command resumes it.')
      using interrupt = watchInterrupts(stopping, stopping)
      const asked = index ?? orAbsent(process.env['PIP_INDEX_URL'])
      const access = packageIndex(host, interrupt.gently, asked)
      const plan = planCuda(dataDirectory, manifest)
      if (!plan.isInstalled) {
        for (const line of planLines(plan, access.index)) output.note(line)
        if (!yes) throw usageError('Nothing was downloaded.', 'Add --yes to download and install it.')
        await follow(installFrom(host, access), progress)
      }
      const cuda = (await askDevices(dataDirectory)).devices.find(({ kind }) => kind === 'cuda')
      output.json({ ...planCuda(dataDirectory, manifest), index: access.index, device: cuda })
      output.line(plan.isInstalled ? 'The CUDA library is installed already.' : 'Installed the CUDA library.')
      if (cuda?.available === false)
        output.line(`CUDA cannot be used yet. ${cuda.reason} ${cuda.hint} ${cuda.command}`.trim())
      else output.line('It can be started. Check its results: turnwise device check cuda')
    })

const planLines = ({ downloadBytes, installedBytes, packages }: CudaPlan, index: string): string[] => [
  `The CUDA library: ${gigabytes(downloadBytes)} to download from ${index}, ${gigabytes(installedBytes)} on disk.`,
  `From the packages ${packages.join(', ')}.`,
  `NVIDIA’s packages are under NVIDIA’s licence. They need NVIDIA’s driver, ${oldestCudaDriver} or newer, which is not included.`,
]

const remove = (context: Context) =>
  new Command('remove')
    .description('Remove what was installed for a device, including partial downloads')
    .addArgument(installable())
    .action(() => {
      const { dataDirectory, output } = context()
      const { freedBytes } = removeCuda(dataDirectory)
      output.json({ freedBytes })
      output.line(
        freedBytes === 0
          ? 'The CUDA library was not installed.'
          : `Removed the CUDA library and freed ${megabytes(freedBytes, 0)}.`,
      )
    })
