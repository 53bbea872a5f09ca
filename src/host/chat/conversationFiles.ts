/**
 * Conversations on disk, below `conversations/` of the data directory: a folder each, with `conversation.json` and the
 * tokens of every answer in a file of its own, which only those who ask for them read.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { answerToken, conversationSchema, type Conversation } from '#shared/api/chat.ts'
import { AppError } from '#shared/errors.ts'
import { entryOf, requireOwn } from '#host/files/ownFiles.ts'
import { createFolder, removeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { asItLies, homeSchema } from '#host/files/movedPaths.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { workNames } from '#host/workFolder/workFolder.ts'

const maxBytes = 64 * 1024 * 1024
const fileName = 'conversation.json'
/** Name of a file with the tokens of an answer, whose id is a UUID. */
const tokensName = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json$/

const fileSchema = conversationSchema.extend({ format: z.literal(1), home: homeSchema })
const tokensSchema = z.object({ tokens: z.array(answerToken) })
export type AnswerToken = z.output<typeof answerToken>

/** A folder whose conversation cannot be read has a problem instead. */
export type ListedConversation = Conversation | { readonly id: string; readonly problem: string }

export class ConversationFiles {
  readonly #folder: string

  /** `folder`: that of all conversations; it need not exist yet. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Lists conversations, latest change first, then those that cannot be read. Errors: AppError 'file/unreadable'. */
  list(): ListedConversation[] {
    const all = workNames(this.#folder, 'chat_').map((id) => this.#attempt(id))
    const stamp = (one: ListedConversation) => ('problem' in one ? -1 : one.updatedAt)
    return all.sort((a, b) => stamp(b) - stamp(a) || (a.id < b.id ? -1 : 1))
  }

  has(id: string): boolean {
    return existsSync(entryOf(this.#folder, id))
  }

  /** Reads a conversation. Errors: AppError 'file/unreadable' where it does not exist or is not one of ours. */
  get(id: string): Conversation {
    const file = path.join(entryOf(this.#folder, id), fileName)
    if (!this.has(id)) {
      throw new AppError('file/unreadable', 'There is no such conversation: it may have been deleted.')
    }
    const document = readJsonObject(file, 'file/unreadable', maxBytes)
    const parsed = fileSchema.safeParse(asItLies(document, path.dirname(file)))
    if (parsed.success && parsed.data.id === id) {
      const { format: _, home: _home, ...conversation } = parsed.data
      return conversation
    }
    throw new AppError(
      'file/unreadable',
      `${file} is not a conversation that this version of Turnwise reads.`,
      'The file was not touched.',
    )
  }

  /** Errors: AppError 'file/unwritable'. */
  add(conversation: Omit<Conversation, 'id'>): Conversation {
    const added = { ...conversation, id: `chat_${randomUUID()}` }
    createFolder(entryOf(this.#folder, added.id), (temporary) =>
      writeFileAtomic(path.join(temporary, fileName), this.#formatted(added)),
    )
    return added
  }

  /**
   * Replaces a conversation, and removes the tokens of answers that are no longer in it. Errors: AppError
   * 'file/unwritable'.
   */
  replace(conversation: Conversation): void {
    const folder = this.#ownFolder(conversation.id)
    writeFileAtomic(path.join(folder, fileName), this.#formatted(conversation))
    const kept = new Set(
      conversation.turns.flatMap(({ answers }) => answers.map((answer) => `${answer?.id ?? ''}.json`)),
    )
    for (const name of workNames(folder, ''))
      if (tokensName.test(name) && !kept.has(name)) rmSync(path.join(folder, name), { force: true })
  }

  /** Errors: AppError 'file/unreadable', 'file/unwritable'. */
  delete(id: string): void {
    removeFolder(entryOf(this.#folder, this.get(id).id))
  }

  /**
   * Stores the tokens of an answer; to be called before the conversation has the answer. Errors: AppError
   * 'file/unwritable'.
   */
  writeTokens(id: string, answerId: string, tokens: readonly AnswerToken[]): void {
    writeFileAtomic(this.#tokensFile(id, answerId), JSON.stringify({ tokens }))
  }

  /** Reads the tokens of an answer; empty where none were kept. Errors: AppError 'file/unreadable'. */
  readTokens(id: string, answerId: string): readonly AnswerToken[] {
    const file = this.#tokensFile(id, answerId)
    if (!existsSync(file)) return []
    const parsed = tokensSchema.safeParse(readJsonObject(file, 'file/unreadable', maxBytes))
    if (parsed.success) return parsed.data.tokens
    throw new AppError('file/unreadable', `${file} does not hold the tokens of an answer.`)
  }

  #formatted(conversation: Conversation): string {
    return `${JSON.stringify({ format: 1, ...conversation, home: path.dirname(this.#folder) }, null, 1)}\n`
  }

  #tokensFile(id: string, answerId: string): string {
    return entryOf(this.#ownFolder(id), `${answerId}.json`)
  }

  /** A link could lead to other files of the person's. Errors: AppError 'file/unwritable'. */
  #ownFolder(id: string): string {
    const folder = entryOf(this.#folder, id)
    requireOwn(folder, 'folder')
    return folder
  }

  #attempt(id: string): ListedConversation {
    try {
      return this.get(id)
    } catch (error) {
      if (error instanceof AppError) return { id, problem: error.message }
      throw error
    }
  }
}
