// One completion of the row's prompt. It returns no reward, so the run's reward functions score it.
export default defineWorkflow({
  async episode({ prompt, engine }) {
    const answer = await engine.generate({ ids: prompt.ids })
    return { ids: answer.allIds, actions: answer.actionMask }
  },
})
