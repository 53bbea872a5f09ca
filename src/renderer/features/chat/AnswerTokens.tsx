import { useMemo } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { formatPercent } from '#renderer/client/format.ts'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { TokenHeatMap } from '#renderer/parts/TokenHeatMap.tsx'
import { heatScale, visibleText } from '#renderer/parts/heat.ts'
import type { TokenRow } from '#renderer/parts/tokenRows.ts'
import type { AnswerToken } from './conversation.ts'

/** Probability of each token, and the likeliest alternatives. */
export function AnswerTokens({ id, answerId }: { id: string; answerId: string }) {
  const { data: tokens, error } = useAnswer('chat.tokens', { id, answerId })
  const rows = useMemo(() => (tokens ?? []).map(rowOf), [tokens])
  const scale = useMemo(() => heatScale('probability', rows), [rows])
  if (error !== null) return <ErrorNote error={error} className="m-3" />
  if (tokens === undefined) return <Loading label="Reading the tokens" />
  return (
    <div className="p-3">
      <TokenHeatMap
        rows={rows}
        scale={scale}
        about="The stronger the colour, the less likely the token was. Point at one, or use the arrow keys."
        wordsOf={({ index }) => <TokenFacts token={tokens[index]} />}
      />
    </div>
  )
}

/** Formats a probability; tiny ones without further digits. */
const probabilityWords = (logprob: number): string => {
  const probability = Math.exp(logprob)
  return probability < 1e-4 ? 'under 0.01 %' : formatPercent(probability)
}

const rowOf = ({ id, text, logprob }: AnswerToken, index: number): TokenRow => ({
  index,
  id,
  text,
  isAction: true,
  action: null,
  probability: Math.exp(logprob),
  advantage: null,
  reward: null,
  ratio: null,
  kl: null,
  entropy: null,
})

function TokenFacts({ token }: { token: AnswerToken | undefined }) {
  if (token === undefined) return null
  const others = token.top.filter(({ id }) => id !== token.id)
  return (
    <>
      <span className="font-medium">
        {visibleText(token.text)} {probabilityWords(token.logprob)}
      </span>
      <span className="text-muted">
        {' instead: '}
        {others.map(({ text, logprob }) => `${visibleText(text)} ${probabilityWords(logprob)}`).join(' · ')}
      </span>
    </>
  )
}
