/** What ONNX Runtime says, in its most talkative log, of where it placed the nodes of its programs. */

const heading = /(?:All nodes|Node\(s\)) placed on \[(\w+)\]\. Number of nodes: (\d+)/g

/** [{ provider, sessions, nodes }], one for each execution provider, summed over the log's sessions. */
export function placements(log) {
  const sums = new Map()
  for (const [, provider, nodes] of log.matchAll(heading)) {
    const sum = sums.get(provider) ?? { provider, sessions: 0, nodes: 0 }
    sums.set(provider, { provider, sessions: sum.sessions + 1, nodes: sum.nodes + Number(nodes) })
  }
  return [...sums.values()]
}
