// One completion of the row's prompt. It says nothing of rewards, so the run's reward functions judge it.
export default defineWorkflow({
  async episode({ prompt, engine }) {
    const answer = await engine.generate({ ids: prompt.ids })
    return { ids: answer.allIds, actions: answer.actionMask }
  },
})
