/** Every command, in the order of the help. */
import type { Command } from '../command.ts'
import { bench } from './bench.ts'
import { demo } from './demo.ts'
import { exportRun } from './export.ts'
import { generate } from './generate.ts'
import { grad } from './grad.ts'
import { modelImport } from './modelImport.ts'
import { modelList } from './modelList.ts'
import { modelRandom } from './modelRandom.ts'
import { resume } from './resume.ts'
import { runsList } from './runsList.ts'
import { runsShow } from './runsShow.ts'
import { score } from './score.ts'
import { selftest } from './selftest.ts'
import { train } from './train.ts'

export const commands: readonly Command[] = [
  demo,
  train,
  resume,
  runsList,
  runsShow,
  exportRun,
  generate,
  score,
  grad,
  modelImport,
  modelList,
  modelRandom,
  selftest,
  bench,
]
