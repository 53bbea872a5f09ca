// A tree of turns: every answer is followed by several others, and each path from the root to a leaf is a trajectory.
// Siblings are compared among themselves, since everything before them is the same.
export default defineWorkflow({
  settings: { branches: 2, depth: 2, question: 'Are you sure? Answer again.' },
  async episode({ prompt, engine, tools, settings }) {
    const grow = async (ids, actions, depth, path) => {
      const answers = await engine.generate({ ids, samples: settings.branches })
      const grown = answers.map(async (answer, i) => {
        if (answer.finishReason === 'context') return []
        const own = [...actions, [ids.length, answer.allIds.length]]
        if (depth === 1) {
          const [reward] = await tools.rewards([{ completion: answer.text }])
          return [{ ids: answer.allIds, actions: own, reward, group: path }]
        }
        const next = await tools.reply(answer.allIds, settings.question)
        return grow(next.ids, own, depth - 1, `${path}/${i}`)
      })
      return (await Promise.all(grown)).flat()
    }
    return grow(prompt.ids, [], settings.depth, 'root')
  },
})
