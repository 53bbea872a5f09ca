/**
 * `defineTools`, as source text inside the harness (harness.ts), whose names it uses: an environment that plays functions which the
 * policy may call. Its reset offers their descriptions, its steps run what was called, and a turn without a call ends the episode.
 */

export const toolsHarness = `
  const endOfName = /\\.\\.\\.|[^A-Za-z0-9_$,\\s]/
  // The parameters of a function that is given without a description, by their names.
  const parameterNames = (name, action) => {
    const source = text(action)
    const list = /^(?:async\\s*)?(?:function\\s*[\\w$]*\\s*)?(?:[\\w$]+\\s*)?\\(([^)]*)\\)|^(?:async\\s+)?([\\w$]+)\\s*=>/.exec(source)
    const given = list === noObject ? '' : (list[1] ?? list[2]).trim()
    if (endOfName.test(given))
      throw new KindOfError('Describe the parameters of the tool "' + name + '": { description, parameters, run }.')
    return given === '' ? [] : given.split(/\\s*,\\s*/)
  }
  const describedTool = (name, tool) => {
    if (typeof tool === 'function') {
      const names = parameterNames(name, tool)
      const properties = { __proto__: null }
      for (let i = 0; i < names.length; i++) properties[names[i]] = {}
      const parameters = { type: 'object', properties, required: names }
      const run = (given) => {
        const values = []
        for (let i = 0; i < names.length; i++) values[i] = given[names[i]]
        return apply(tool, undefined, values)
      }
      return { described: { name, description: '', parameters }, run, required: names }
    }
    const { description, parameters, run } = plainObject(tool, 'The tool "' + name + '" is a function or { description, parameters, run }: it')
    if (typeof run !== 'function') throw new KindOfError('The tool "' + name + '" needs a function "run".')
    const schema = parameters ?? { type: 'object', properties: {} }
    return { described: { name, description: description ?? '', parameters: schema }, run: (given) => apply(run, tool, [given]), required: schema.required ?? [] }
  }
  const resultText = (value) => {
    const written = typeof value === 'string' ? value : stringify(value)
    return written === undefined ? 'null' : written
  }
  const plainWords = (value) => ' ' + text(value).toLowerCase().replace(/[^\\p{L}\\p{N}.-]+/gu, ' ').replace(/\\.+(?= |$)/g, '').trim() + ' '
  const saysAnswer = ({ row, answer }) => {
    if (row.answer === undefined || row.answer === null)
      throw new KindOfError('The row has no column "answer": give defineTools a function "reward".')
    return plainWords(answer).includes(plainWords(row.answer)) ? 1 : 0
  }
  const questionOf = ({ row }) => {
    const asked = row.prompt ?? row.question
    if (isMissing(asked)) throw new KindOfError('The row has no column "prompt" or "question": give defineTools a function "prompt".')
    return asked
  }
  const errorText = (error) => 'Error: ' + cut(described(error).message, 500)

  const defineTools = (functions, options = {}) => {
    const table = { __proto__: null }
    const offered = []
    for (const name of ownKeys(plainObject(functions, 'defineTools'))) {
      table[name] = describedTool(name, functions[name])
      offered[offered.length] = { type: 'function', function: table[name].described }
    }
    if (offered.length === 0) throw new KindOfError('defineTools needs at least one function.')
    const { prompt = questionOf, reward = saysAnswer, maxTurns = 8, maxCalls = 16, resultCharacters = 2000, settings = {} } = options
    const runOne = async ({ name, arguments: written }) => {
      const tool = table[name]
      if (tool === undefined) return { name, isError: true, result: 'Error: there is no tool "' + name + '".' }
      try {
        const given = parse(written)
        for (const key of tool.required)
          if (given[key] === undefined) throw new KindOfError('the argument "' + key + '" is missing')
        const result = cut(resultText(await tool.run(given)), resultCharacters)
        return { name, arguments: given, isError: false, result }
      } catch (error) {
        return { name, isError: true, result: errorText(error) }
      }
    }
    return {
      settings: { maxTurns, ...settings },
      async reset(input) {
        return { state: { calls: [] }, observation: await prompt(input), tools: offered }
      },
      async step(input) {
        const { state, action, calls } = input
        const before = state.calls
        if (calls === undefined || calls.length === 0) {
          const earned = await reward({ ...input, answer: action, calls: before })
          const solved = typeof earned === 'number' && earned > 0
          return { reward: earned, terminated: true, info: { correct: solved, 'tool calls': before.length } }
        }
        const made = [...before]
        const messages = []
        for (const call of calls) {
          if (made.length >= maxCalls) break
          const done = await runOne(call)
          made[made.length] = done
          // Nine letters and digits, as Mistral's templates want them.
          const id = 'call' + ('0000' + made.length).slice(-5)
          messages[messages.length] = { role: 'tool', name: call.name, tool_call_id: id, content: done.result }
        }
        let errors = 0
        for (const each of made) errors += each.isError ? 1 : 0
        const info = { 'tool calls': made.length, 'tool errors': errors }
        return { state: { calls: made }, observation: messages, terminated: false, truncated: messages.length < calls.length, info }
      },
    }
  }
  replace(globalThis, 'defineTools', defineTools)
`
