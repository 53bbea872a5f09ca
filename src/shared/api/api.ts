/** The whole API contract. Clients import `Api` as a type only. */
import { agentsApi } from './agents.ts'
import { checkpointsApi } from './checkpoints.ts'
import { queueApi } from './queue.ts'
import { chatApi } from './chat.ts'
import { datasetsApi } from './datasets.ts'
import { evaluationsApi } from './evaluations.ts'
import { hubApi } from './hub.ts'
import { labelsApi } from './labels.ts'
import { librariesApi } from './libraries.ts'
import { lossesApi } from './losses.ts'
import { metricsApi } from './metrics.ts'
import { modelsApi } from './models.ts'
import { keysApi } from './keys.ts'
import { pythonApi } from './python.ts'
import { rewardsApi } from './rewards.ts'
import { runsApi } from './runs.ts'
import { samplesApi } from './samples.ts'
import { servingApi } from './serving.ts'
import { settingsApi } from './settings.ts'
import { studiesApi } from './studies.ts'
import { systemApi } from './system.ts'
import { workflowsApi } from './workflows.ts'

export const api = {
  runs: runsApi,
  metrics: metricsApi,
  samples: samplesApi,
  labels: labelsApi,
  checkpoints: checkpointsApi,
  datasets: datasetsApi,
  rewards: rewardsApi,
  losses: lossesApi,
  workflows: workflowsApi,
  evaluations: evaluationsApi,
  studies: studiesApi,
  models: modelsApi,
  chat: chatApi,
  hub: hubApi,
  serving: servingApi,
  settings: settingsApi,
  python: pythonApi,
  keys: keysApi,
  agents: agentsApi,
  queue: queueApi,
  system: systemApi,
  libraries: librariesApi,
}

export type Api = typeof api
