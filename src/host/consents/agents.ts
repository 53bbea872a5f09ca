/** Consents to programs that work for a person, such as an assistant with tools. */
import { changeConsents, readConsents } from './consents.ts'

/** Tells whether the owner allowed it for a client, which is known by the name it gives. Errors: as `readConsents`. */
export const mayAgent = (client: string, what: string, consents: string): boolean =>
  readConsents(consents).agents.some((each) => each.client === client && each.may === what)

/** Records a consent. Errors: AppError 'file/unwritable'. */
export const allowAgent = (client: string, what: string, consents: string): void =>
  changeConsents(consents, ({ agents }) =>
    agents.some((each) => each.client === client && each.may === what)
      ? {}
      : { agents: [...agents, { client, may: what, at: Date.now() }] },
  )

/** Withdraws all consents to agents and returns them. Errors: AppError 'file/unwritable'. */
export function withdrawAgents(
  consents: string,
): readonly { readonly client: string; readonly may: string }[] {
  const { agents } = readConsents(consents)
  changeConsents(consents, () => ({ agents: [] }))
  return agents.map(({ client, may }) => ({ client, may }))
}
