// A reward for each token: repeating a recent token is penalised at the token that repeats it.
// PPO and REINFORCE use it token by token; algorithms that compare completions use the sum.
export const needs = ['tokens']
export const settings = { penalty: 0.1, window: 8 }

export default function repeatedTokens({ completion, tokens, settings }) {
  // Typed text has no tokens, so its words are counted instead.
  const said = tokens?.map(({ text }) => text) ?? completion.split(/\s+/)
  const rewards = said.map((text, i) => {
    const isRepeated = said.slice(Math.max(0, i - settings.window), i).includes(text)
    return isRepeated ? -settings.penalty : 0
  })
  return tokens === null ? rewards.reduce((sum, reward) => sum + reward, 0) : { perToken: rewards }
}
