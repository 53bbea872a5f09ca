// Policy and environment take turns until the episode is over. Each turn earns the reward that the environment gives it.
export default defineWorkflow({
  async episode({ engine, tools }) {
    const { environment } = tools
    let turn = await environment.reset()
    let { ids } = turn
    const actions = []
    const turnRewards = []
    while (!turn.over && turnRewards.length < environment.maxTurns) {
      const answer = await engine.generate({ ids: turn.ids })
      if (answer.finishReason === 'context') break
      ids = answer.allIds
      actions.push([answer.promptIds.length, ids.length])
      turn = await environment.step({ state: turn.state, action: answer.text, ids })
      turnRewards.push(turn.reward)
    }
    if (turnRewards.length === 0) return null
    return { ids, actions, turnRewards, truncated: !turn.terminated, columns: turn.columns, metrics: turn.metrics }
  },
})
