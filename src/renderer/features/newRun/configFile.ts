/** The config as text: what is saved, opened and edited by hand. */
import { AppError } from '#shared/errors.ts'
import { isObject, type JsonObject } from '#shared/config/paths.ts'

export const configText = (config: JsonObject): string => `${JSON.stringify(config, null, 2)}\n`

/** Whether its settings are right is for the host to say. Errors: AppError 'config/invalid'. */
export function parseConfigText(text: string): JsonObject {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new AppError(
      'config/invalid',
      `This is not JSON. ${sentence(error)}`,
      'Correct the text; nothing was changed.',
    )
  }
  if (isObject(json)) return json
  throw new AppError('config/invalid', 'A config file is one JSON object.', 'Nothing was changed.')
}

const sentence = (error: unknown): string =>
  error instanceof Error ? `${error.message}.`.replace(/\.\.$/, '.') : ''
