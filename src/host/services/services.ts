/** All services of one host: what `serve` of #shared/api/serve.ts answers with. One file per area of the contract. */
import type { Api } from '#shared/api/api.ts'
import type { ContractHandlers } from '#shared/api/contract.ts'
import type { Host } from '../host.ts'
import { checkpointsService } from './checkpoints.ts'
import { datasetsService } from './datasets.ts'
import { librariesService } from './libraries.ts'
import { metricsService } from './metrics.ts'
import { modelsService } from './models.ts'
import { queueService } from './queue.ts'
import { rewardsService } from './rewards.ts'
import { runsService } from './runs.ts'
import { samplesService } from './samples.ts'
import { settingsService } from './settings.ts'
import { systemService } from './system.ts'

export function createServices(host: Host): ContractHandlers<Api> {
  return {
    runs: runsService(host),
    metrics: metricsService(host),
    samples: samplesService(host),
    checkpoints: checkpointsService(host),
    datasets: datasetsService(host),
    rewards: rewardsService(host),
    models: modelsService(host),
    settings: settingsService(host),
    queue: queueService(host),
    system: systemService(host),
    libraries: librariesService(host),
  }
}
