// Generates several completions and learns from the best, which is compared with the mean of all.
export default defineWorkflow({
  settings: { samples: 4 },
  async episode({ prompt, engine, tools, settings }) {
    const answers = await engine.generate({ ids: prompt.ids, samples: settings.samples })
    const rewards = await tools.rewards(answers.map(({ text }) => ({ completion: text })))
    const scored = answers.map((answer, i) => ({ answer, reward: rewards[i] })).filter(({ reward }) => reward.total !== null)
    if (scored.length === 0) return null
    const best = scored.reduce((a, b) => (b.reward.total > a.reward.total ? b : a))
    const mean = scored.reduce((sum, { reward }) => sum + reward.total, 0) / scored.length
    return {
      ids: best.answer.allIds,
      actions: best.answer.actionMask,
      reward: best.reward,
      baseline: mean,
      metrics: { best: best.reward.total, mean },
    }
  },
})
