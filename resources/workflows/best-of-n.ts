// Generates several completions and learns from the best, which is compared with the mean of all.
export default defineWorkflow({
  settings: { samples: 4 },
  async episode({ prompt, engine, tools, settings }) {
    const answers = await engine.generate({ ids: prompt.ids, samples: settings.samples })
    const rewards = await tools.rewards(answers.map(({ text }) => ({ completion: text })))
    const scored = answers.flatMap((answer, i) => {
      const { total } = rewards[i]
      return total === null ? [] : [{ answer, total, reward: rewards[i] }]
    })
    if (scored.length === 0) return null
    const best = scored.reduce((a, b) => (b.total > a.total ? b : a))
    const mean = scored.reduce((sum, { total }) => sum + total, 0) / scored.length
    return {
      ids: best.answer.allIds,
      actions: best.answer.actionMask,
      reward: best.reward,
      baseline: mean,
      metrics: { best: best.total, mean },
    }
  },
})
