/** Consents to programs that work for the owner of the machine, such as an assistant with tools. */
import { z } from 'zod'
import { instant } from './common.ts'
import { command, query } from './contract.ts'

/** Kinds of consent, with what each allows. */
export const permissions = {
  start: 'start, change, stop and evaluate runs on this machine',
  export: 'write trained models into new folders on this machine',
  send: 'send prompts, completions and answers to',
} as const
export type Permission = keyof typeof permissions

/** Name that a client gives itself, and a kind of consent, with the address that it is for. */
const use = z.object({ client: z.string().max(1000), may: z.string().max(2000) })

export const agentsApi = {
  /** Newest first. */
  allowed: query(z.void(), z.array(use.extend({ at: instant }))),
  withdraw: command(z.object({ uses: z.array(use).max(1000) }), z.void()),
}

/** Describes a consent in words: `start`, or `send https://example.org`. */
export function permissionWords(may: string): string {
  const [kind = '', ...origin] = may.split(' ')
  return [Object.hasOwn(permissions, kind) ? permissions[kind as Permission] : kind, ...origin].join(' ')
}
