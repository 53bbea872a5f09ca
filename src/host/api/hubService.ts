/** Finds models: the known ones, and those of a hub; sends exports to a hub. */
import type { Api } from '#shared/api/api.ts'
import type { Handlers, InputOf, OutputOf } from '#shared/api/contract.ts'
import type { hubApi } from '#shared/api/hub.ts'
import { AppError } from '#shared/errors.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import { hubIdOf, modelNames } from '#host/models/modelLibrary.ts'
import { outlookOf } from './outlook.ts'
import type { HubAccess } from '#host/hub/hub.ts'
import { outgoing, sending } from '#host/export/outgoing.ts'
import { hubAccess, placeAt, pushAccess } from '#host/hub/hubFetching.ts'
import { pushFiles } from '#host/hub/push.ts'
import {
  chooseFrom,
  configOf,
  licenseText,
  openHubModel,
  type HubChoice,
  type HubModel,
} from '#host/hub/hubModel.ts'
import { readKnownModels } from '#host/hub/knownModels.ts'
import { families, searchModels } from '#host/hub/searchModels.ts'

export const hubService = (host: Host): Handlers<typeof hubApi> => ({
  known: () => knownModels(host.dataDirectory),
  families: () => [...families],
  search: (wanted, { signal }) => searchModels(wanted, hubAccess(host, signal)),
  look: (wanted, { signal }) => lookAt(wanted, hubAccess(host, signal), host.dataDirectory),
  outgoing: ({ directory }, { signal }) => ({
    ...outgoing(directory),
    hub: hubAccess(host, signal).endpoint,
  }),
  push: ({ directory, repo, isPublic }, { signal }) =>
    pushFiles({ ...sending(outgoing(directory)), repo, isPublic }, pushAccess(host, signal)),
})

/** Lists the known models with what each would need and do here. */
export function knownModels(dataDirectory: string): OutputOf<Api, 'hub.known'> {
  const { cache } = dataFolders(dataDirectory)
  const names = new Map(modelNames(dataDirectory).map(({ name, directory }) => [hubIdOf(directory), name]))
  return readKnownModels().map(({ config, ...model }) => ({
    ...model,
    ...outlookOf(config, cache),
    localName: names.get(model.id) ?? null,
  }))
}

/** Errors: those of `openHubModel`; AppError 'usage/invalid' where there is no such file. */
async function lookAt(
  { address, file }: InputOf<Api, 'hub.look'>,
  access: HubAccess,
  dataDirectory: string,
): Promise<OutputOf<Api, 'hub.look'>> {
  const model = await openHubModel(placeAt(address, access, 'model'), access)
  const [first] = model.choices
  const choice = chooseFrom(model, file ?? first?.file ?? null)
  const { place, commit } = model.commit
  return {
    id: place.repo,
    commit,
    file: choice.file,
    page: `${access.endpoint}/${place.repo}`,
    license: model.license === null ? null : { ...model.license, text: await licenseText(model) },
    choices: [...model.choices],
    verdict: await verdictOf(model, choice, dataFolders(dataDirectory).cache),
  }
}

async function verdictOf(
  model: HubModel,
  choice: HubChoice,
  cacheDirectory: string,
): Promise<OutputOf<Api, 'hub.look'>['verdict']> {
  try {
    return outlookOf(await configOf(model, choice), cacheDirectory)
  } catch (error) {
    if (error instanceof AppError && error.code.startsWith('model/')) return { problem: error.message }
    throw error
  }
}
