/** Every command, in the order of the help. */
import type { Command } from '../command.ts'
import { app } from './app.ts'
import { bench } from './bench.ts'
import { configImport } from './configImport.ts'
import { datasetImport } from './datasetImport.ts'
import { datasetList } from './datasetList.ts'
import { datasetShow } from './datasetShow.ts'
import { demo } from './demo.ts'
import { deviceCheck } from './deviceCheck.ts'
import { deviceInstall } from './deviceInstall.ts'
import { deviceList } from './deviceList.ts'
import { deviceRemove } from './deviceRemove.ts'
import { deviceReport } from './deviceReport.ts'
import { exportRun } from './export.ts'
import { fork } from './fork.ts'
import { generate } from './generate.ts'
import { grad } from './grad.ts'
import { modelCheck } from './modelCheck.ts'
import { modelImport } from './modelImport.ts'
import { modelList } from './modelList.ts'
import { modelRandom } from './modelRandom.ts'
import { probe } from './probe.ts'
import { resume } from './resume.ts'
import { runsCompare } from './runsCompare.ts'
import { runsDelete } from './runsDelete.ts'
import { runsDiagnose } from './runsDiagnose.ts'
import { runsExport } from './runsExport.ts'
import { runsImport } from './runsImport.ts'
import { runsList } from './runsList.ts'
import { runsProject } from './runsProject.ts'
import { runsRecover } from './runsRecover.ts'
import { runsRestore } from './runsRestore.ts'
import { runsShow } from './runsShow.ts'
import { runsTrash } from './runsTrash.ts'
import { score } from './score.ts'
import { selftest } from './selftest.ts'
import { serve } from './serve.ts'
import { telemetry } from './telemetry.ts'
import { train } from './train.ts'

export const commands: readonly Command[] = [
  demo,
  train,
  resume,
  fork,
  app,
  serve,
  runsList,
  runsShow,
  runsDiagnose,
  runsCompare,
  runsExport,
  runsImport,
  runsProject,
  runsDelete,
  runsRestore,
  runsTrash,
  runsRecover,
  exportRun,
  generate,
  score,
  grad,
  configImport,
  modelImport,
  modelList,
  modelCheck,
  modelRandom,
  datasetImport,
  datasetList,
  datasetShow,
  deviceList,
  deviceCheck,
  deviceReport,
  deviceInstall,
  deviceRemove,
  selftest,
  probe,
  bench,
  telemetry,
]
