// Tool calls: the expression that the policy writes between <calc> and </calc> is computed here, and generation
// continues with the result, whose tokens are not actions.
const calculate = (expression: string): string => {
  const parts = /^\s*(-?\d+(?:\.\d+)?)\s*([-+*/])\s*(-?\d+(?:\.\d+)?)\s*$/.exec(expression)
  if (parts === null) return 'error: write one operation on two numbers'
  const [left, right] = [Number(parts[1]), Number(parts[3])]
  const result = Number({ '+': left + right, '-': left - right, '*': left * right, '/': left / right }[parts[2]])
  return Number.isFinite(result) ? String(Number(result.toPrecision(12))) : 'error: not a number'
}

export default defineWorkflow({
  settings: { calls: 4 },
  async episode({ prompt, engine, tools, settings, log }) {
    let ids = prompt.ids
    const actions = []
    let said = ''
    let calls = 0
    for (;;) {
      const answer = await engine.generate({ ids, stop: ['</calc>'] })
      if (answer.finishReason === 'context') break
      actions.push([ids.length, answer.allIds.length])
      ids = answer.allIds
      said += answer.text
      const call = /<calc>([^<]*)$/.exec(answer.text)
      if (call === null || answer.finishReason !== 'stop' || calls === settings.calls) break
      calls++
      const result = `=${calculate(call[1])} `
      ids = [...ids, ...tools.encode(result)]
      said += `</calc>${result}`
    }
    if (actions.length === 0) return null
    // What follows the last action teaches nothing.
    ids = ids.slice(0, actions[actions.length - 1][1])
    log.metric('calls', calls)
    const [own] = await tools.rewards([{ completion: said }])
    return { ids, actions, reward: own }
  },
})
