/**
 * Surroundings of a workflow's episode, as source text inside the harness (harness.ts), whose names it uses.
 *
 * An episode is run from its beginning with the answers to its requests so far. Requests get numbers in the order in which
 * they are made. When nothing is left to run, all that were made and have a recorded answer are answered together, in order
 * of their numbers, as they were the first time; so every run repeats the one before, and then goes on.
 *
 * Calls of the tokenizer are not requests: its answers depend on the input alone. A run that needs one that is not known ends
 * there, whatever its code does about that, and is repeated with the answer.
 */

/** Requests of one episode, of all kinds. */
const maxRequests = 512

export const workflowHarness = `
  // JSON would make {} of what a workflow did not wait for.
  const refuseJson = (key) => {
    throw new KindOfError('“' + text(key) + '” is a promise, not its value: write await before the call that gave it.')
  }
  replace(globalThis, 'defineWorkflow', (workflow) => {
    replace(PlainPromise.prototype, 'toJSON', refuseJson)
    return workflow
  })

  const episode = { __proto__: null, asked: [], answers: [], texts: noObject, resolvers: noObject, count: 0, released: 0, known: noObject, missing: undefined }
  let ending
  const ask = (request) => {
    const number = episode.count++
    if (number >= ${maxRequests}) throw new KindOfError('An episode may make ${maxRequests} requests.')
    episode.texts[number] = stringify(request)
    return new PlainPromise((yes) => {
      episode.resolvers[number] = yes
    })
  }
  const askText = (question) => {
    const key = stringify(question)
    const known = episode.known[key]
    if (known !== undefined) return isArray(known) ? apply(copy, known, []) : known
    // What is asked after that is asked for want of an answer.
    if (episode.missing === undefined) episode.missing = key
    throw new KindOfError('The tokenizer is asked.')
  }
  const takeMissing = () => (episode.missing === undefined ? undefined : answer('"asksText":' + stringify(episode.missing)))
  const { concat, fill, slice: copy } = Array.prototype
  const List = Array
  const repeated = (value, length) => apply(fill, new List(length), [value])
  const settled = (promise, make) => apply(then, promise, [make])
  const plainObject = (value, name) => {
    if (typeof value !== 'object' || value === noObject || isArray(value))
      throw new KindOfError(name + ' expects an object, got ' + article(value) + '.')
    return value
  }

  // A completion with the prompt before it: what is learned from, and which of it was generated.
  const completed = (given, promptIds) => {
    given.promptIds = promptIds
    given.allIds = apply(concat, promptIds, [given.ids])
    given.actionMask = apply(concat, repeated(0, promptIds.length), [repeated(1, given.ids.length)])
    return given
  }
  const engine = {
    generate(options) {
      const request = { ...plainObject(options, 'engine.generate'), kind: 'generate' }
      // Its own copy: what is pushed to the list afterwards is no part of the prompt.
      const ids = request.ids === undefined ? undefined : apply(copy, request.ids, [])
      return settled(ask({ ...request, ids }), ({ completions, isList, promptIds = ids }) => {
        const list = []
        for (let i = 0; i < completions.length; i++) list[i] = completed(completions[i], promptIds)
        return isList ? list : list[0]
      })
    },
  }
  const toolsOf = (environment) => ({
    rewards: (list) => ask({ kind: 'rewards', of: list }),
    prompt: (messages) => ask({ kind: 'prompt', messages }),
    reply: (ids, message) => ask({ kind: 'reply', ids, message }),
    encode: (words) => askText({ kind: 'encode', text: words }),
    decode: (ids) => askText({ kind: 'decode', ids }),
    environment: environment && {
      maxTurns: environment.maxTurns,
      reset: () => ask({ kind: 'reset' }),
      step: (given) => {
        const { state, action, ids } = plainObject(given, 'tools.environment.step')
        return ask({ kind: 'step', state, action, ids })
      },
    },
  })

  const beginEpisode = (sample) => {
    const { asked, answers, environment, textAnswers } = sample
    delete sample.asked
    delete sample.textAnswers
    delete sample.answers
    delete sample.environment
    episode.asked = asked
    episode.answers = answers
    episode.known = { __proto__: null, ...textAnswers }
    episode.missing = undefined
    episode.texts = { __proto__: null }
    episode.resolvers = { __proto__: null }
    ending = undefined
    seed = sample.seed | 0
    sample.engine = engine
    sample.tools = toolsOf(environment)
  }

  // JSON would make null of a number that is none.
  const exact = (name, value) => {
    if (typeof value === 'number' && !isFinite(value))
      throw new KindOfError('The trajectory holds ' + text(value) + ' (as "' + text(name) + '"), which is not a finite number.')
    return value
  }
  const returned = (value) => {
    if (value === null) return answer('"trajectories":null')
    const list = isArray(value) ? value : [value]
    let trajectories = ''
    for (let i = 0; i < list.length; i++) {
      const { ids, actions, ...rest } = plainObject(list[i], 'A workflow returns a trajectory { ids, actions, reward }, a list of them or null: it')
      const json = stringify({ ids, actions })
      trajectories += (i === 0 ? '' : ',') + '{"tokens":' + json + ',"rest":' + stringify(rest, exact) + '}'
    }
    return answer('"trajectories":[' + trajectories + ']')
  }

  // JSON text of what the episode came to or asks for; undefined: answers were given, so that there is more to run.
  const takeEpisode = () => {
    if (episode.missing !== undefined) return takeMissing()
    const { asked, answers, texts, resolvers, count, released } = episode
    if (count > ${maxRequests})
      return wrong('exception', 'The episode makes more than ${maxRequests} requests.')
    for (let i = released; i < count && i < asked.length; i++) {
      if (texts[i] !== asked[i])
        return wrong('exception', 'Request ' + (i + 1) + ' of the episode is another than before: an episode may depend on its input and the answers alone.')
    }
    if (ending !== undefined && (ending.isFailure || released === count)) return ending.text
    if (ending !== undefined) {
      const open = count - released
      return wrong('exception', 'The episode returned before ' + (open === 1 ? 'a request was' : open + ' requests were') + ' answered: await every request.')
    }
    if (released === count)
      return wrong('exception', 'The episode waits for something that is not a request, so that it never ends.')
    const known = count < answers.length ? count : answers.length
    if (released < known) {
      for (let i = released; i < known; i++) resolvers[i](answers[i])
      episode.released = known
      return undefined
    }
    let requests = ''
    for (let i = released; i < count; i++) requests += (i === released ? '' : ',') + stringify(text(texts[i]))
    return answer('"requests":[' + requests + ']')
  }
`
