/** A host that trains one run: `node hostProcess.ts DATA_DIRECTORY RUN`. It says a line for every change of its worker. */
import { openRunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { Supervisor } from '#host/runs/supervisor.ts'

const [dataDirectory = '', id = '', pauseAt] = process.argv.slice(2)
const run = openRunFolder(dataDirectory, id)
const supervisor = new Supervisor({
  cacheDirectory: dataFolders(dataDirectory).cache,
  onChanged: ({ activity, pid }) => process.stdout.write(`${activity} ${pid ?? ''}\n`),
  onGrown: () => process.stdout.write('grown\n'),
})
const { checkpoint } = resolveResume(dataDirectory, id)
const ended = supervisor.start(run, { resumeFrom: checkpoint?.directory ?? null })
if (pauseAt === 'paused') supervisor.pause(id)
process.stdout.write(`${(await ended).kind}\n`)
