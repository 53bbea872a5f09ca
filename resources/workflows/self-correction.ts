// The policy is told when an answer is wrong and may try again. Every further attempt is worth less, so being right at
// once pays most.
export default defineWorkflow({
  settings: { attempts: 3, discount: 0.8, passing: 1, feedback: 'That is not right. Try again.' },
  async episode({ prompt, engine, tools, settings, log }) {
    let ids = prompt.ids
    const actions = []
    let reward = null
    for (let attempt = 0; attempt < settings.attempts; attempt++) {
      const answer = await engine.generate({ ids })
      if (answer.finishReason === 'context') break
      actions.push([ids.length, answer.allIds.length])
      ids = answer.allIds
      const [own] = await tools.rewards([{ completion: answer.text }])
      log.metric('attempts', attempt + 1)
      reward = own.total === null ? null : own.total * settings.discount ** attempt
      if ((own.total ?? 0) >= settings.passing || attempt + 1 === settings.attempts) break
      const next = await tools.reply(ids, settings.feedback)
      ids = next.ids
    }
    if (actions.length === 0) return null
    return { ids: ids.slice(0, actions[actions.length - 1][1]), actions, reward }
  },
})
