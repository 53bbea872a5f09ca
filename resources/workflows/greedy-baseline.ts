// ReMax: a sampled completion is compared with the greedy one for the same prompt. Li et al. 2023, arXiv:2310.10505.
export default defineWorkflow({
  async episode({ prompt, engine, tools, isEvaluation }) {
    if (isEvaluation) {
      const { allIds, actionMask } = await engine.generate({ ids: prompt.ids })
      return { ids: allIds, actions: actionMask }
    }
    const [answer, greedy] = await Promise.all([
      engine.generate({ ids: prompt.ids }),
      engine.generate({ ids: prompt.ids, greedy: true }),
    ])
    const [own, base] = await tools.rewards([{ completion: answer.text }, { completion: greedy.text }])
    return { ids: answer.allIds, actions: answer.actionMask, reward: own, baseline: base.total }
  },
})
