/**
 * Answers the rows of a run, those that it gets wrong in a second turn, 64 sessions at a time: TURNWISE_KEY=… node agent.ts http://127.0.0.1:8790
 * The run is started with: turnwise collect my-run.json --port 8790
 */
const [address = 'http://127.0.0.1:8790'] = process.argv.slice(2)
const key = process.env['TURNWISE_KEY'] ?? ''

interface Session {
  readonly id: string | null
  readonly over: boolean
  readonly base_url: string
  readonly columns: Readonly<Record<string, string>>
}

async function post<T>(url: string, body: object): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as T
}

async function ask({ base_url }: Session, messages: readonly object[]): Promise<string> {
  interface Answer {
    readonly choices: readonly { readonly message: { readonly content: string } }[]
  }
  const { choices } = await post<Answer>(`${base_url}/chat/completions`, { model: 'policy', messages })
  return choices[0]?.message.content ?? ''
}

/** Plays one session and returns its end: a right answer is worth 1, one at the second try half of that. */
async function act(session: Session): Promise<object> {
  const { prompt = '', answer = '' } = session.columns
  const task = { role: 'user', content: prompt }
  const first = await ask(session, [task])
  if (first.trim() === answer) return { reward: 1 }
  const again = { role: 'user', content: 'That is not right. Answer again.' }
  const second = await ask(session, [task, { role: 'assistant', content: first }, again])
  return { reward: second.trim() === answer ? 0.5 : 0 }
}

async function work(): Promise<void> {
  const take = () => post<Session>(`${address}/sessions`, {})
  for (let session = await take(); !session.over;) {
    const { id } = session
    const next = async () =>
      post<Session>(`${address}/sessions/${id}/end`, { ...(await act(session)), next: {} })
    session = await (id === null ? take() : next())
  }
}

await Promise.all(Array.from({ length: 64 }, work))
