/** All services of one host, as the handlers for `serve` in #shared/api/serve.ts. One file per area of the contract. */
import type { Api } from '#shared/api/api.ts'
import type { ContractHandlers } from '#shared/api/contract.ts'
import type { Host } from '#host/host.ts'
import { checkpointsService } from '#host/runs/checkpointsService.ts'
import { chatService } from '#host/chat/chatService.ts'
import { datasetsService } from '#host/data/datasetsService.ts'
import { evaluationsService } from '#host/evaluations/evaluationsService.ts'
import { hubService } from '#host/hub/hubService.ts'
import { librariesService } from '#host/devices/librariesService.ts'
import { keysService } from '#host/consents/keysService.ts'
import { lossesService } from '#host/losses/lossesService.ts'
import { metricsService } from '#host/runs/metricsService.ts'
import { modelsService } from '#host/models/modelsService.ts'
import { pythonService } from '#host/python/pythonService.ts'
import { queueService } from '#host/runs/queueService.ts'
import { rewardsService } from '#host/rewards/rewardsService.ts'
import { runsService } from '#host/runs/runsService.ts'
import { samplesService } from '#host/runs/samplesService.ts'
import { servingService } from '#host/serving/servingService.ts'
import { studiesService } from '#host/studies/studiesService.ts'
import { workflowsService } from '#host/workflows/workflowsService.ts'
import { settingsService, systemService } from './systemService.ts'

export function createServices(host: Host): ContractHandlers<Api> {
  return {
    runs: runsService(host),
    metrics: metricsService(host),
    samples: samplesService(host),
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
    queue: queueService(host),
    system: systemService(host),
    libraries: librariesService(host),
  }
}
