/** API procedures for conversations with models. */
import type { chatApi } from '#shared/api/chat.ts'
import type { Handlers } from '#shared/api/contract.ts'
import { changesOf } from '#host/store/feeds.ts'
import type { Host } from '#host/host.ts'

export const chatService = ({ chats, models, notifier }: Host): Handlers<typeof chatApi> => ({
  list: () =>
    chats.files.list().map((each) => {
      if ('problem' in each) return each
      const { id, title, updatedAt, model, columns, turns } = each
      return { id, title, updatedAt, model, columns, turns: turns.length }
    }),

  get: ({ id }) => chats.files.get(id),
  create: (start) => chats.create(start),
  update: (changes) => chats.update(changes),
  delete: ({ id }) => chats.delete(id),
  editAnswer: (change) => chats.editAnswer(change),
  answer: (request, { signal }) => chats.answer(request, signal),
  tokens: ({ id, answerId }) => chats.files.readTokens(id, answerId),
  room: (base) => chats.room(base),
  close: () => models.endIdle(),
  watch: (_input, { from, signal }) => changesOf({ notifier, signal }, from, () => chats.stamp),
})
