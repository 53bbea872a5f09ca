/** The part of harness.ts that finds the reward functions of a module. */

/** The form of a reward function, for messages. */
export const rewardForm =
  'export default function reward({ prompt, completion, row }) { return completion === row.answer ? 1 : 0 }'

/** Statements of the harness: `listRewards` offers the functions of a module and adds their names. */
export const rewardHarness = `
  const listRewards = (module, names) => {
    const main = module.default
    const reward = (name, action, self) => {
      if (action.length > 1)
        throw new KindOfError(
          'The reward function "' + name + '" has ' + action.length + ' parameters, but it is called with one object. Write: ' +
            ${JSON.stringify(rewardForm)},
        )
      names[names.length] = offer(name, action, self, scored)
    }
    const group = module.rewards
    const isGroup = typeof group === 'object' && group !== noObject
    // Beside rewards that are marked as such, a function of several parameters is one they are made of.
    const hasMarked = typeof main === 'function' || isGroup
    const list = (holder, self) => {
      const keys = ownKeys(holder)
      for (let i = 0; i < keys.length; i++) {
        const name = keys[i]
        const action = holder[name]
        if (typeof name !== 'string' || typeof action !== 'function' || targets[name] !== undefined) continue
        if (holder !== module || !hasMarked || action.length <= 1) reward(name, action, self)
      }
    }
    if (typeof main === 'function') reward('default', main, undefined)
    list(module, undefined)
    if (isGroup) list(group, group)
  }
`
