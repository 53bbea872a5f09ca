/** The open conversation: reading, changing and answering it. */
import { useState } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { useAnswer, useApi, useCommand, useTask } from '#renderer/client/api.tsx'
import { useKeys } from '#renderer/client/keys.ts'
import { navigate } from '#renderer/client/route.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { asError, toastError } from '#renderer/client/toasts.ts'
import { modelName, type ModelChoice } from '#renderer/client/modelChoice.ts'
import {
  shownTurns,
  untitled,
  type Asked,
  type Conversation,
  type Draft,
  type ShownTurn,
} from './conversation.ts'

type Settings = Pick<Draft, 'model' | 'base' | 'columns' | 'system' | 'tools' | 'sampling'>

const usualSampling: Draft['sampling'] = {
  temperature: 0.7,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  maxNewTokens: 256,
  stopStrings: [],
  seed: null,
}

/** Returns the start of a new conversation with those of the models that share a base with the first. */
function useStart(chosen: readonly ModelChoice[]): Settings | null {
  const { data: models } = useAnswer('models.list', undefined)
  const [last] = useSetting<Partial<Settings>>('chat.last', {})
  const { sampling = usualSampling, system = '' } = last
  if (models === undefined) return null
  const model = chosen[0]?.model ?? models.find((each) => !('problem' in each))?.name
  if (model === undefined) return null
  const isSame = (other: ModelChoice) => modelName(models, other.model) === modelName(models, model)
  const columns = chosen.filter(isSame).map(({ adapter }) => adapter ?? null)
  return { model, base: null, system, tools: [], sampling, columns: columns.length === 0 ? [null] : columns }
}

export interface Chat {
  readonly conversation: Draft
  readonly turns: readonly ShownTurn[]
  readonly isRunning: boolean
  readonly error: Error | null
  readonly change: (changes: Changes & ColumnChanges) => void
  readonly send: (turn: number, text: string | null, columns?: readonly number[]) => void
  readonly stop: () => void
}

type Changes = Partial<Omit<Settings, 'columns'>>

/** Columns of a saved conversation; those of a new one are the chosen models. */
interface ColumnChanges {
  readonly columns?: readonly { readonly adapter: Draft['columns'][number]; readonly was: number | null }[]
}

/** Opens a conversation. `id`: of a saved one; null: a new one with the `chosen` models. */
export function useChat(id: string | null, chosen: readonly ModelChoice[]) {
  const { data: stored, error: loadError } = useAnswer('chat.get', { id: id ?? '' }, { enabled: id !== null })
  const start = useStart(chosen)
  const [edits, setEdits] = useState<Changes>({})
  const draft: Draft | null =
    start === null ? null : { id: null, title: untitled, turns: [], ...start, ...edits }
  const conversation = id === null ? draft : (stored ?? null)
  const saving = useSaving()
  const answering = useAnswering(conversation)

  const change = ({ columns, ...changes }: Changes & ColumnChanges) => {
    if (conversation === null) return
    if (conversation.id !== null)
      void saving.update(conversation.id, { ...changes, ...(columns && { columns }) })
    else setEdits({ ...edits, ...changes })
  }
  const send: Chat['send'] = (turn, text, columns) => {
    if (conversation === null) return
    const begin = async () => {
      const kept = conversation.id === null ? await saving.create(conversation) : (stored ?? null)
      setEdits({})
      if (kept !== null) answering.ask(kept, turn, text, columns)
    }
    begin().catch((thrown: unknown) => toastError(asError(thrown)))
  }
  const chat: Chat | null = conversation === null ? null : { conversation, change, send, ...answering.shown }
  return { chat, error: loadError }
}

function useSaving() {
  const client = useApi()
  const queries = useQueryClient()
  const [, setLast] = useSetting<Partial<Settings>>('chat.last', {})
  const show = (conversation: Conversation) => {
    const { id, system, sampling } = conversation
    queries.setQueryData(['chat.get', { id }], conversation)
    setLast({ system, sampling })
  }
  const command = useCommand('chat.update', { onDone: show })
  return {
    update: (id: string, changes: Changes & ColumnChanges) => command.run({ id, ...changes }),
    async create({ model, base, columns, system, tools, sampling }: Draft): Promise<Conversation> {
      const made = await client.call('chat.create', { model, base, columns, system, tools, sampling })
      show(made)
      navigate(`/playground/chat/${made.id}`, {}, { replace: true })
      return made
    },
  }
}

/** Generates answers; continues while another conversation is open, and ends when the screen is left. */
function useAnswering(conversation: Draft | null) {
  const task = useTask('chat.answer')
  const [asked, setAsked] = useState<Asked | null>(null)
  const ask = (kept: Conversation, turn: number, text: string | null, given?: readonly number[]) => {
    const columns = given ?? kept.columns.map((_, column) => column)
    const answers = text === null ? kept.turns[turn]?.answers : undefined
    const before = kept.columns.map((_, column) => answers?.[column]?.id ?? null)
    setAsked({ id: kept.id, turn, text, columns, before })
    task.start({ id: kept.id, turn, columns, ...(text === null ? {} : { text }) })
  }
  const isHere = asked !== null && asked.id === conversation?.id
  const isRunning = isHere && task.state === 'running'
  const turns =
    conversation === null ? [] : shownTurns(conversation, isHere ? asked : null, task.items, isRunning)
  const shown = { turns, isRunning, error: isHere ? task.error : null, stop: task.cancel }
  return { ask, shown }
}

/** The answer that the keys of labels are about: the last one chosen, at first that to the last message. J and K go on to the next. */
export function useCurrentAnswer(turns: readonly ShownTurn[]) {
  const [chosen, setCurrent] = useState<{ readonly turn: number; readonly column: number } | null>(null)
  const places = turns.flatMap(({ answers }, turn) => answers.map((_, column) => ({ turn, column })))
  const isAt = (at: typeof chosen) => (place: { readonly turn: number; readonly column: number }) =>
    place.turn === at?.turn && place.column === at.column
  const last = { turn: turns.length - 1, column: 0 }
  const current = places.find(isAt(chosen)) ?? last
  const go = (by: 1 | -1) => {
    const next = places[places.findIndex(isAt(current)) + by]
    if (next !== undefined) setCurrent(next)
  }
  useKeys({ nextRow: () => go(1), previousRow: () => go(-1) })
  return { current, setCurrent }
}
