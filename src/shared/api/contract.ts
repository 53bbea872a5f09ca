/**
 * The API between the host and its clients (window, browser, command line, tests), written once.
 *
 * Reading guide: this file defines contracts; `runs.ts`, `metrics.ts`, … are its areas and
 * `api.ts` puts them together. `serve.ts` answers calls, `client.ts` makes them, `reconnecting.ts` survives a lost
 * connection; between them a port carries the messages of `protocol.ts`.
 *
 * A setting of a request is described once, in its schema: label, help, limits and default, and as `flags` and `phrase`
 * its place on a command line. The host parses requests with it, `RequestForm.tsx` shows it, and `cli/fields.ts` makes
 * it an option.
 */
import type { z } from 'zod'

declare module 'zod' {
  interface GlobalMeta {
    /** Flags on a command line, such as `--limit <N>`. */
    flags?: string
    /** Help on a command line, where a form's would not fit. */
    phrase?: string
  }
}

type Schema = z.ZodType

export type ProcedureKind = 'query' | 'command' | 'stream' | 'feed'

export interface Procedure<
  Kind extends ProcedureKind = ProcedureKind,
  Input extends Schema = Schema,
  Output extends Schema = Schema,
> {
  readonly kind: Kind
  readonly input: Input
  /** Output of a call, or of every item. */
  readonly output: Output
}

export type Area = Readonly<Record<string, Procedure>>
export type Contract = Readonly<Record<string, Area>>

/** Declares a read, which may be repeated at any time. */
export const query = <I extends Schema, O extends Schema>(input: I, output: O): Procedure<'query', I, O> => ({
  kind: 'query',
  input,
  output,
})

/** Declares a change; after a lost connection it is unknown whether it was made. */
export const command = <I extends Schema, O extends Schema>(
  input: I,
  output: O,
): Procedure<'command', I, O> => ({ kind: 'command', input, output })

/** Declares a task with progress and an end; it is cancelled when its reader leaves. */
export const stream = <I extends Schema, O extends Schema>(input: I, item: O): Procedure<'stream', I, O> => ({
  kind: 'stream',
  input,
  output: item,
})

/**
 * Declares live updates. Every item has a cursor; a reader that returns with one gets exactly what followed, without
 * repetition or gaps.
 */
export const feed = <I extends Schema, O extends z.ZodType<WithCursor>>(
  input: I,
  item: O,
): Procedure<'feed', I, O> => ({ kind: 'feed', input, output: item })

export interface WithCursor {
  /** Position right after this item; only its producer can interpret it. */
  readonly cursor: string
}

type ProcedureNames<C extends Contract, Kind extends ProcedureKind> = {
  [A in keyof C & string]: {
    [P in keyof C[A] & string]: C[A][P] extends Procedure<Kind> ? `${A}.${P}` : never
  }[keyof C[A] & string]
}[keyof C & string]

/** Names such as `runs.list`. */
export type CallName<C extends Contract> = ProcedureNames<C, 'query' | 'command'>
export type StreamName<C extends Contract> = ProcedureNames<C, 'stream'>
export type FeedName<C extends Contract> = ProcedureNames<C, 'feed'>

type ProcedureAt<C extends Contract, Name extends string> = Name extends `${infer A}.${infer P}`
  ? A extends keyof C
    ? P extends keyof C[A]
      ? C[A][P]
      : never
    : never
  : never

/** Deeply readonly type, for data that is passed around and never changed. */
export type Immutable<T> = T extends object ? { readonly [Key in keyof T]: Immutable<T[Key]> } : T

export type InputOf<C extends Contract, Name extends string> =
  ProcedureAt<C, Name> extends Procedure<ProcedureKind, infer I> ? Immutable<z.input<I>> : never

/** Answer of a query or command, or item of a stream or feed. */
export type OutputOf<C extends Contract, Name extends string> =
  ProcedureAt<C, Name> extends Procedure<ProcedureKind, Schema, infer O> ? Immutable<z.output<O>> : never

export interface CallContext {
  /** Aborts when the caller has cancelled or left. */
  readonly signal: AbortSignal
}

export interface FeedContext extends CallContext {
  /** Cursor of the last item the reader has; null: from the start that the procedure promises. */
  readonly from: string | null
}

type HandlerOf<P> =
  P extends Procedure<infer Kind, infer I, infer O>
    ? Kind extends 'query' | 'command'
      ? (input: z.output<I>, context: CallContext) => Answer<O> | Promise<Answer<O>>
      : (
          input: z.output<I>,
          context: Kind extends 'feed' ? FeedContext : CallContext,
        ) => AsyncIterable<Answer<O>>
    : never

type Answer<O extends Schema> = Immutable<z.output<O>>

/** Implementation of an area: one function per procedure; a missing or mistyped one does not compile. */
export type Handlers<A extends Area> = { readonly [Name in keyof A]: HandlerOf<A[Name]> }
export type ContractHandlers<C extends Contract> = { readonly [Name in keyof C]: Handlers<C[Name]> }
