/** All services of one host: what `serve` of #shared/api/serve.ts answers with. One file per area of the contract. */
import type { Api } from '#shared/api/api.ts'
import type { ContractHandlers } from '#shared/api/contract.ts'
import type { Host } from '../host.ts'
import { checkpointsService } from './checkpoints.ts'
import { datasetsService } from './datasets.ts'
import { metricsService } from './metrics.ts'
import { modelsService } from './models.ts'
import { queueService } from './queue.ts'
import { rewardsService } from './rewards.ts'
import { runsService } from './runs.ts'
import { samplesService } from './samples.ts'
import { settingsService } from './settings.ts'
import { systemService } from './system.ts'
import { rememberTokenizers } from './tokenizers.ts'

export function createServices(host: Host): ContractHandlers<Api> {
  const openText = rememberTokenizers()
  return {
    runs: runsService(host),
    metrics: metricsService(host),
    samples: samplesService(host, openText),
    checkpoints: checkpointsService(host),
    datasets: datasetsService(host, openText),
    rewards: rewardsService(host, openText),
    models: modelsService(host, openText),
    settings: settingsService(host),
    queue: queueService(host),
    system: systemService(host),
  }
}
