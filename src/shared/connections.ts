/**
 * Purposes for which Turnwise asks another machine for something, each with the letter that marks a request in the
 * counter of this installation. Whatever makes a request names its purpose, and the page about privacy lists them all.
 */
export const connectionPurposes = {
  search: {
    mark: 's',
    words: 'An environment that asks a search server or an MCP server, at an address you give.',
  },
  hub: {
    mark: 'h',
    words:
      'A model or data set that you look for in a hub or download from it; an export that you push to it.',
  },
  judge: { mark: 'j', words: 'A judge at an address that a reward names.' },
  teacher: {
    mark: 't',
    words: 'A teacher at an address, for answers that you ask for or a run that learns from it.',
  },
  rollout: { mark: 'r', words: 'A server at an address that a run names, which generates completions.' },
  webhook: { mark: 'w', words: 'The webhook that you set, when a run has ended or has a problem.' },
  library: { mark: 'c', words: 'The CUDA library, if you install it under Settings, Machine.' },
} as const

export type ConnectionPurpose = keyof typeof connectionPurposes

export const purposeNames = Object.keys(connectionPurposes) as ConnectionPurpose[]
