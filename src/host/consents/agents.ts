/** Consents to programs that work for a person, such as an assistant with tools. */
import { changeConsents, readConsents } from './consents.ts'

interface Use {
  readonly client: string
  readonly may: string
}

const isSame = (a: Use, b: Use): boolean => a.client === b.client && a.may === b.may

/** Tells whether the owner allowed it for a client, which is known by the name it gives. Errors: as `readConsents`. */
export const mayAgent = (client: string, may: string, consents: string): boolean =>
  readConsents(consents).agents.some((each) => isSame(each, { client, may }))

/** Records a consent. Errors: AppError 'file/unwritable'. */
export const allowAgent = (client: string, may: string, consents: string): void =>
  changeConsents(consents, ({ agents }) =>
    agents.some((each) => isSame(each, { client, may }))
      ? {}
      : { agents: [...agents, { client, may, at: Date.now() }] },
  )

/** Withdraws consents to agents, all without `uses`, and returns them. Errors: AppError 'file/unwritable'. */
export function withdrawAgents(consents: string, uses?: readonly Use[]): readonly Use[] {
  const isWithdrawn = (each: Use) => uses === undefined || uses.some((use) => isSame(each, use))
  let withdrawn: readonly Use[] = []
  changeConsents(consents, ({ agents }) => {
    withdrawn = agents.filter(isWithdrawn)
    return { agents: agents.filter((each) => !isWithdrawn(each)) }
  })
  return withdrawn
}
