/** All services of one host, as the handlers for `serve` in #shared/api/serve.ts. One file per area of the contract. */
import type { Api } from '#shared/api/api.ts'
import type { ContractHandlers } from '#shared/api/contract.ts'
import type { Host } from '#host/host.ts'
import { checkpointsService } from './checkpointsService.ts'
import { chatService } from './chatService.ts'
import { datasetsService } from './datasetsService.ts'
import { evaluationsService } from './evaluationsService.ts'
import { hubService } from './hubService.ts'
import { labelsService } from './labelsService.ts'
import { librariesService } from './librariesService.ts'
import { agentsService } from './agentsService.ts'
import { keysService } from './keysService.ts'
import { lossesService } from './lossesService.ts'
import { metricsService } from './metricsService.ts'
import { modelsService } from './modelsService.ts'
import { pythonService } from './pythonService.ts'
import { queueService } from './queueService.ts'
import { rewardsService } from './rewardsService.ts'
import { runsService } from './runsService.ts'
import { samplesService } from './samplesService.ts'
import { servingService } from './servingService.ts'
import { studiesService } from './studiesService.ts'
import { workflowsService } from './workflowsService.ts'
import { settingsService, systemService } from './systemService.ts'

export function createServices(host: Host): ContractHandlers<Api> {
  return {
    runs: runsService(host),
    metrics: metricsService(host),
    samples: samplesService(host),
    labels: labelsService(host),
    checkpoints: checkpointsService(host),
    datasets: datasetsService(host),
    rewards: rewardsService(host),
    losses: lossesService(host),
    workflows: workflowsService(host),
    evaluations: evaluationsService(host),
    studies: studiesService(host),
    models: modelsService(host),
    chat: chatService(host),
    hub: hubService(host),
    serving: servingService(host),
    settings: settingsService(host),
    python: pythonService(host),
    keys: keysService(host),
    agents: agentsService(host),
    queue: queueService(host),
    system: systemService(host),
    libraries: librariesService(host),
  }
}
