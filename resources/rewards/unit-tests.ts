// The completion is a JavaScript function; the row holds tests for it, such as
// { "tests": [{ "input": [2, 3], "output": 5 }] }. The reward is the share of tests it passes.
// The function runs under the same limits as this code: it has no access to anything else and cannot run for ever.
const fence = /```(?:js|javascript)?\n(.*?)```/s

export default function unitTests({ completion, row, log }) {
  if (!Array.isArray(row.tests) || row.tests.length === 0) return null
  const code = (fence.exec(completion)?.[1] ?? completion).trim().replace(/;$/, '')
  const same = JSON.stringify // taken before foreign code could change it
  let solve: unknown
  try {
    solve = new Function(`'use strict'; return (${code})`)()
  } catch (error) {
    log.column('problem', String(error))
    return 0
  }
  if (typeof solve !== 'function') return 0
  let passed = 0
  for (const { input, output } of row.tests) {
    try {
      if (same(solve(...input)) === same(output)) passed++
    } catch (error) {
      log.column('problem', String(error))
    }
  }
  return passed / row.tests.length
}
