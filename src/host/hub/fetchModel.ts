import { writeHubId } from './hubId.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { fetchFiles, type HubProgress } from './fetchFiles.ts'
import type { HubPlace } from './address.ts'
import { invalid, listCommit, openCommit, type HubAccess, type HubFile } from './hub.ts'

/** What a model needs, and what it says of itself; never code, pickles or other formats. */
const isWanted = ({ path: file }: HubFile): boolean =>
  !file.includes('/') &&
  (/\.safetensors$/.test(file) ||
    /^(?:[\w.-]+\.json|chat_template\.jinja|README\.md|LICENSE(?:\.\w+)?)$/.test(file))

/** Yields how far it is. Errors: those of `fetchFiles`; AppError 'model/invalid' where it is none. */
export async function* fetchModel(
  place: HubPlace,
  folder: string,
  access: HubAccess,
): AsyncGenerator<HubProgress> {
  const commit = await openCommit(place, access)
  const files = (await listCommit(commit, false)).filter(isWanted)
  if (!files.some(({ path: file }) => file === 'config.json')) {
    throw invalid(place, `${place.repo} is no model that Turnwise can read: it has no config.json.`)
  }
  yield* fetchFiles(commit, files, folder)
  if (isHubId(place.repo)) writeHubId(folder, place.repo)
}
