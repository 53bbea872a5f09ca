/** Conversations of a host: kept in files, answered by models that stay open between turns (serving/openModels.ts). */
import { randomUUID } from 'node:crypto'
import { totalmem } from 'node:os'
import type { z } from 'zod'
import type { ChatAnswer, chatApi, ChatTurn, Conversation } from '#shared/api/chat.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import { chatGroup } from '#shared/labelGroups.ts'
import type { ChangeNotifier } from '#host/store/changeNotifier.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { LabelledAnswer, LabelRecord } from '#host/store/labels.ts'
import type { DataStorage } from '#host/store/storage.ts'
import { Inbox } from '#host/processes/messages.ts'
import type { ServedModel } from '#host/serving/servedProcess.ts'
import type { AskText } from '#host/models/textQuestion.ts'
import type { Lease, OpenModels } from '#host/serving/openModels.ts'
import { messagesOf, seedFor, writeAnswer } from './answering.ts'
import { adapterOf, needsOf, requireRoom, setupOf } from './base.ts'
import { ConversationFiles } from './conversationFiles.ts'

export interface ChatsOptions extends DataStorage {
  readonly models: OpenModels
  readonly notifier: ChangeNotifier
  readonly askText: AskText
}

type Input<Name extends keyof typeof chatApi> = z.output<(typeof chatApi)[Name]['input']>
type Item = z.output<(typeof chatApi)['answer']['output']>

/** A conversation keeps its model open so long after its last answer. */
const idleMs = 5 * 60_000
const untitled = 'New conversation'
const longestTitle = 60

export class Chats implements AsyncDisposable {
  readonly #options: ChatsOptions
  readonly files: ConversationFiles
  /** Answers being written, by conversation. */
  readonly #answering = new Map<string, Work>()
  /** Cursors of another host say nothing here. */
  readonly #host = randomUUID()
  #changes = 0
  #isClosed = false

  constructor(options: ChatsOptions) {
    this.#options = options
    this.files = new ConversationFiles(dataFolders(options.dataDirectory).conversations)
  }

  /** Stamp that differs after every change of a conversation or of a model's state. */
  get stamp(): string {
    return `${this.#host} ${this.#changes} ${this.#options.models.changes}`
  }

  /** Errors: AppError 'file/unwritable'. */
  create(start: Input<'create'>): Conversation {
    const now = Date.now()
    return this.#changed(
      this.files.add({ ...start, title: untitled, createdAt: now, updatedAt: now, turns: [] }),
    )
  }

  /** Errors: AppError 'file/unreadable', 'file/unwritable'. */
  update({ id, columns, ...changes }: Input<'update'>): Conversation {
    const before = this.files.get(id)
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
    if (columns === undefined) return this.#save({ ...before, ...given })
    const turns = before.turns.map((turn) => ({
      ...turn,
      answers: columns.map(({ was }) => (was === null ? null : (turn.answers[was] ?? null))),
    }))
    return this.#save({ ...before, ...given, turns, columns: columns.map(({ adapter }) => adapter) })
  }

  /**
   * Replaces the text of an answer, and labels what was written before with it; the text from before an edit takes that
   * back. Errors: AppError 'file/unreadable', 'file/unwritable', 'data/invalid', 'run/busy'.
   */
  editAnswer({ id, turn, column, text }: Input<'editAnswer'>): Conversation {
    this.#requireIdle(id)
    const conversation = this.files.get(id)
    const before = answerAt(conversation, turn, column)
    if (canBeLabelled(before)) this.#labelEdit(this.labelled({ id, turn, column }), text)
    return this.#save(
      withAnswer(conversation, turn, column, {
        ...before,
        id: randomUUID(),
        calls: [],
        stopReason: 'edited',
        tokens: 0,
        tokensPerSecond: null,
        text,
        error: null,
      }),
    )
  }

  #labelEdit(answer: LabelledAnswer, text: string): void {
    const { labels } = this.#options.store
    const isTakenBack = (label: LabelRecord) =>
      label.member === answer.member && label.edit === answer.completion && label.completion === text
    const edit = labels.list({ group: answer.group }).find(isTakenBack)
    if (edit !== undefined) labels.restore([{ ...edit, edit: null }])
    else if (text !== answer.completion) labels.set(answer, { edit: text })
  }

  /** An answer as it can be labelled. Errors: AppError 'file/unreadable'; 'data/invalid' where it is none, or calls tools. */
  labelled({ id, turn, column }: Omit<Input<'editAnswer'>, 'text'>): LabelledAnswer {
    const conversation = this.files.get(id)
    const answer = answerAt(conversation, turn, column)
    if (!canBeLabelled(answer))
      throw invalidData(
        'This answer is empty, failed or calls tools, so that a data set of labels cannot hold it.',
        'Nothing was labelled.',
      )
    const others = (conversation.turns[turn]?.answers ?? []).filter((other) => other !== null)
    return {
      scope: id,
      group: chatGroup(id, turn),
      member: column,
      origin: `${id}, turn ${turn + 1}, ${nameOf(answer.by)}`,
      prompt: messagesOf(conversation, turn, column),
      completion: answer.text,
      others: others.filter((other) => other !== answer && canBeLabelled(other)).map(({ text }) => text),
      isTruncated: answer.stopReason === 'length' || answer.stopReason === 'stopped',
    }
  }

  /**
   * Deletes a conversation with its answers and their labels; those being written are stopped. Errors: AppError 'file/unreadable',
   * 'file/unwritable'.
   */
  delete(id: string): void {
    this.#answering.get(id)?.stopping.abort()
    this.files.delete(id)
    this.#options.store.labels.remove(id)
    this.#changed(null)
  }

  /** Errors: those of the model and its adapters. */
  async room(base: Input<'room'>): Promise<z.output<(typeof chatApi)['room']['output']>> {
    const { models, askText } = this.#options
    const setup = setupOf(this.#options, base)
    const needs = needsOf(setup)
    const { hasChatTemplate } = await askText({ type: 'describe', directory: setup.directory })
    return {
      ...needs,
      hasChatTemplate,
      problem: needs.problem ?? (hasChatTemplate ? null : withoutTemplate),
      availableBytes: process.availableMemory(),
      totalBytes: totalmem(),
      state: models.state(setup),
    }
  }

  /**
   * Yields answers as they are written, all columns at once; leaving the loop or aborting stops them, and what is
   * written of them is kept. Errors: those of the model; AppError 'run/busy' where the conversation is being answered,
   * 'data/invalid' for a turn or column that it does not have, 'file/unwritable'. A failure in one column alone is
   * reported in its answer.
   */
  async *answer(input: Input<'answer'>, signal: AbortSignal): AsyncGenerator<Item> {
    this.#requireIdle(input.id)
    const work: Work = { stopping: new AbortController(), written: Promise.resolve() }
    this.#answering.set(input.id, work)
    const ended = AbortSignal.any([signal, work.stopping.signal])
    try {
      const asked = this.#begin(input)
      yield { type: 'opening' }
      using lease = await this.#lease(asked.conversation, ended)
      if (lease !== null) yield* this.#write(lease.model, asked, work, ended)
    } finally {
      // A caller that left without a signal stops it too; what is kept of it is kept before the next may begin.
      work.stopping.abort()
      await work.written
      this.#answering.delete(input.id)
      this.#changed(null)
    }
  }

  /** Opens the model; null if nobody waits for it any more. */
  async #lease(conversation: Conversation, signal: AbortSignal): Promise<Lease | null> {
    const { models } = this.#options
    const setup = setupOf(this.#options, conversation)
    requireRoom(setup)
    // One base at a time: the one before makes room.
    models.endIdle(setup)
    try {
      return await models.lease(setup, { idleMs, signal })
    } catch (error) {
      if (signal.aborted) return null
      throw error
    }
  }

  async *#write(model: ServedModel, asked: AskedTurn, work: Work, signal: AbortSignal): AsyncGenerator<Item> {
    const inbox = new Inbox<Item | null>()
    // The first adapter may have the base opened again, which waits for what is being written.
    const inOrder = asked.columns.toSorted((a, b) => rankOf(asked, a) - rankOf(asked, b))
    const writing = inOrder.map((column) =>
      this.#writeColumn(model, { ...asked, column }, signal, (item) => inbox.add(item)),
    )
    work.written = Promise.allSettled(writing).then(() => inbox.add(null))
    for (let item = await inbox.next(); item !== null; item = await inbox.next()) yield item
    await Promise.all(writing)
  }

  async #writeColumn(
    model: ServedModel,
    { conversation, turn, seed, column }: Omit<AskedTurn, 'columns'> & { readonly column: number },
    signal: AbortSignal,
    say: (item: Item) => void,
  ): Promise<void> {
    const { id, model: base, columns, sampling, tools } = conversation
    const by = { model: base, ...(columns[column] ? { adapter: columns[column] } : {}) }
    const { answer, tokens } = await writeAnswer({
      model,
      by,
      tools,
      sampling,
      seed,
      signal,
      messages: messagesOf(conversation, turn, column),
      adapter: adapterOf(this.#options, base, columns[column] ?? null),
      onNews: (news) => say({ ...news, column }),
    })
    if (answer.stopReason === 'stopped' && answer.tokens === 0) return
    // The conversation may have been renamed meanwhile, or deleted.
    const now = this.#present(id)
    if (now?.turns[turn] === undefined) return
    if (tokens.length > 0) this.files.writeTokens(id, answer.id, tokens)
    this.#save(withAnswer(now, turn, column, answer))
    say({ type: 'done', column, answer })
  }

  #present(id: string): Conversation | null {
    return this.files.has(id) ? this.files.get(id) : null
  }

  /** The conversation up to the turn, saved. */
  #begin(input: Input<'answer'>): AskedTurn {
    const conversation = this.files.get(input.id)
    const [asked, columns] = [askedTurn(conversation, input), askedColumns(conversation, input)]
    const saved = this.#save({
      ...conversation,
      title: conversation.title === untitled ? titleOf(asked.user) : conversation.title,
      turns: [...conversation.turns.slice(0, input.turn), asked],
    })
    return { conversation: saved, turn: input.turn, columns, seed: seedFor(saved.sampling) }
  }

  #requireIdle(id: string): void {
    if (!this.#answering.has(id)) return
    throw new AppError('run/busy', 'This conversation is being answered.', 'Stop the answer first.')
  }

  #save(conversation: Conversation): Conversation {
    const saved = { ...conversation, updatedAt: Date.now() }
    this.files.replace(saved)
    return this.#changed(saved)
  }

  #changed<Value>(value: Value): Value {
    this.#changes++
    // Nobody is told any more: whoever would look is being closed too.
    if (!this.#isClosed) this.#options.notifier.notify()
    return value
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const works = [...this.#answering.values()]
    for (const { stopping } of works) stopping.abort()
    await Promise.all(works.map(({ written }) => written))
  }
}

interface Work {
  readonly stopping: AbortController
  /** Resolves when every answer is kept, or could not be. */
  written: Promise<unknown>
}

interface AskedTurn {
  readonly conversation: Conversation
  readonly turn: number
  readonly columns: readonly number[]
  readonly seed: number
}

/** Errors: AppError 'data/invalid'. */
function askedTurn({ turns, columns }: Conversation, { turn, text }: Input<'answer'>): ChatTurn {
  const before = turns[turn]
  const user = text ?? before?.user
  if (turn > turns.length || user === undefined) throw invalidData('There is no such turn to answer.')
  if (user.trim() === '') throw invalidData('The message is empty.', 'Type one first.')
  const isAsAsked = text === undefined && before !== undefined
  return { user, answers: isAsAsked ? before.answers : columns.map(() => null) }
}

/** Errors: AppError 'data/invalid'. */
function askedColumns({ columns }: Conversation, { columns: given }: Input<'answer'>): number[] {
  const asked = [...new Set(given ?? columns.keys())]
  if (asked.every((column) => column < columns.length)) return asked
  throw invalidData('There is no such column to answer in.')
}

/** Errors: AppError 'data/invalid'. */
function answerAt({ turns }: Conversation, turn: number, column: number): ChatAnswer {
  const answer = turns[turn]?.answers[column] ?? null
  if (answer !== null) return answer
  throw invalidData('There is no such answer.')
}

const canBeLabelled = ({ stopReason, calls, text }: ChatAnswer): boolean =>
  stopReason !== 'failed' && calls.length === 0 && text !== ''

const nameOf = ({ model, adapter }: ChatAnswer['by']): string => {
  if (adapter === undefined) return model
  return `${model} with ${'path' in adapter ? adapter.path : `${adapter.runId}@${adapter.step}`}`
}

const rankOf = ({ conversation }: AskedTurn, column: number): number =>
  conversation.columns[column] === null ? 1 : 0

/** Puts an answer into the conversation; the turn must exist. */
function withAnswer(
  conversation: Conversation,
  turn: number,
  column: number,
  answer: ChatAnswer,
): Conversation {
  const answers = (before: ChatTurn) =>
    conversation.columns.map((_, at) => (at === column ? answer : (before.answers[at] ?? null)))
  const turns = conversation.turns.map((each, at) =>
    at === turn ? { ...each, answers: answers(each) } : each,
  )
  return { ...conversation, turns }
}

function titleOf(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length <= longestTitle ? line : `${line.slice(0, longestTitle - 1)}…`
}

const withoutTemplate =
  'The model has no chat template, so it takes no messages. A blind vote can let it continue a text.'
