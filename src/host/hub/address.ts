/** What people paste: ids and addresses of models and data sets on a hub. */
import { AppError } from '#shared/errors.ts'

export type HubKind = 'model' | 'dataset'

export interface HubPlace {
  readonly kind: HubKind
  /** Such as HuggingFaceTB/SmolLM2-135M. */
  readonly repo: string
  /** A branch, tag or commit. */
  readonly revision: string
}

/** What a person calls it. */
export const kindWords: Readonly<Record<HubKind, string>> = { model: 'model', dataset: 'data set' }

const repoPattern = /^[\w.-]{1,96}\/[\w.-]{1,96}$/
const usualRevision = 'main'

/**
 * `owner/name`, `owner/name@revision`, or an address of its page or of one of its revisions; of a data set also with
 * `datasets/` in front. Errors: AppError 'usage/invalid'.
 */
export function readHubAddress(text: string, endpoint: string, kind: HubKind): HubPlace {
  const place = readPlace(text.trim().replace(/\/+$/, ''), endpoint, kind)
  if (place !== null) return { kind, ...place }
  const form = kind === 'dataset' ? `${endpoint}/datasets` : endpoint
  throw new AppError(
    'usage/invalid',
    `“${text}” is no address of a ${kindWords[kind]}.`,
    `Give owner/name, or the address of its page below ${form}.`,
  )
}

function readPlace(given: string, endpoint: string, kind: HubKind): Omit<HubPlace, 'kind'> | null {
  const path = given.startsWith(`${endpoint}/`) ? given.slice(endpoint.length + 1) : given
  const [, place = '', tag = usualRevision] = /^([^@]*)(?:@(.+))?$/.exec(path) ?? []
  const [owner, name, ...page] = withoutKind(place, kind).split('/')
  const repo = [owner, name].join('/')
  const revision = page.length === 0 ? tag : revisionOf(page, kind)
  return isRepo(repo) && revision !== null ? { repo, revision } : null
}

const isRepo = (repo: string): boolean => repoPattern.test(repo) && !repo.includes('..')

const withoutKind = (place: string, kind: HubKind): string =>
  kind === 'dataset' ? place.replace(/^datasets\//, '') : place

/** What an address says behind the name; null where it is none of the whole thing. */
function revisionOf([page, ...rest]: readonly string[], kind: HubKind): string | null {
  // The page that shows the rows; which of them are meant is asked for later.
  if (page === 'viewer' && kind === 'dataset') return usualRevision
  return page === 'tree' && rest.length > 0 ? rest.join('/') : null
}
