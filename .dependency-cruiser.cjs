/** Who may import whom. Six tables; the rules are derived from them. */

/** A layer may import itself and these. */
const layers = {
  shared: [],
  engine: ['shared'],
  rl: ['shared', 'engine'],
  host: ['shared', 'engine', 'rl'],
  cli: ['shared', 'host'],
  library: ['shared', 'engine', 'rl', 'host'],
  main: ['shared', 'host'],
  preload: ['shared'],
  renderer: ['shared'],
}

/** Each heavy package has one door. */
const doors = {
  'onnxruntime-(node|common)': '^src/engine/runtime/(onnxRuntime|device)[.]ts$',
  '@huggingface/(tokenizers|jinja)': '^src/engine/text/',
  '@huggingface/hub': '^src/host/hub/',
  'better-sqlite3': '^src/host/(store/|files/turns[.]ts)',
  'quickjs-emscripten-core': '^src/host/sandbox/',
  '@jitl/.*': '^src/host/sandbox/',
  'papaparse|hyparquet(-compressors)?': '^src/host/data/',
  'jsonc-parser': '^src/host/files/',
  ws: '^src/host/transports/',
  zod: '^src/(shared|host|cli)/',
  'commander|@commander-js/extra-typings': '^src/cli/',
  '@modelcontextprotocol/sdk': '^src/(cli/(mcp/|commands/mcp[.]ts)|host/python/mcpConnection[.]ts)',
  electron: '^src/(main|preload)/',
  'react(-dom)?': '^src/renderer/',
  recharts: '^src/renderer/charts/',
}

/** Folders whose files are plug-ins: alike, independent, listed in registry.ts. */
const plugins = ['src/rl/algorithms', 'src/rl/environments']

/** Folders and loose files of the host, from the ground up: each may import itself and those before it. */
const hostFolders = `
  outboundConnections.ts dataDirectory.ts faults.ts files telemetryFiles.ts consents hostAddress.ts processes outboundRequests.ts transports
  sandbox gguf python adapters remote workFolder store
  data devices code models checks serving agents hub exchange engines judges
  runs training export jobs
  studies evaluations chat
  host.ts webhook.ts api createHost.ts serveHost.ts
`
  .trim()
  .split(/\s+/)

/** Inside the window, too, a folder may import itself and these. */
const windowFolders = {
  client: [],
  kit: ['client'],
  charts: ['kit', 'client'],
  editor: ['kit', 'client'],
  parts: ['charts', 'editor', 'kit', 'client'],
  features: ['parts', 'charts', 'editor', 'kit', 'client'],
}

/** A feature is entered by its screen, and by these: what it has for other features. */
const featureEntrances = [
  'compare/useCompared',
  'home/FirstRunGuide',
  'newRun/(Sentence|problems|useDraft|useNewRun)',
  'queue/QueueList',
  'rewards/(CodePicker|RewardPicker)',
  'runs/useRunsTable',
  'samples/SamplesTab',
]

/** Host files of the processes that train, answer or check with a model; the command line may open models itself. */
const withRuntime = [
  '^src/host/(training|checks|jobs/process)/',
  '^src/host/judges/(localJudge|runJudges)[.]ts$',
  '^src/host/models/(openModel|scoring)[.]ts$',
  '^src/host/serving/(servedBase|servedRequests)[.]ts$',
  '^src/host/export/(exporting|exportWriters|parityReaders)[.]ts$',
].join('|')

const error = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to })

const layerRules = Object.entries(layers).map(([layer, allowed]) =>
  error(
    `layer-${layer}`,
    `${layer} may import ${allowed.join(', ') || 'nothing else'}.`,
    { path: `^src/${layer}/` },
    { path: '^src/', pathNot: `^src/(${[layer, ...allowed].join('|')})/` },
  ),
)

const doorRules = Object.entries(doors).map(([name, door]) =>
  error(
    `door-${name}`,
    `Only files under ${door} may import this package.`,
    { path: '^src/', pathNot: door },
    { path: `(^|/)node_modules/(${name})/|^(${name})$` },
  ),
)

const innerRules = [
  error(
    'inner-algorithms',
    'An algorithm is arithmetic on arrays.',
    { path: '^src/rl/algorithms/' },
    { path: '^src/engine/' },
  ),
  error(
    'inner-describing',
    'Describing a graph needs no runtime.',
    { path: '^src/engine/', pathNot: '^src/engine/runtime/' },
    { path: '^src/engine/runtime/' },
  ),
  error(
    'inner-learning',
    'Learning receives a policy; it never makes one.',
    { path: '^src/rl/' },
    { path: '^src/engine/runtime/' },
  ),
  error(
    'inner-host',
    'What loads ONNX Runtime is listed: the process with the window never does.',
    { path: '^src/host/', pathNot: withRuntime },
    { path: '^src/engine/runtime/' },
  ),
  error(
    'inner-host-with-runtime',
    'Nor does it import what does; it may know its types.',
    { path: '^src/(host|main)/', pathNot: withRuntime },
    { path: withRuntime, dependencyTypesNot: ['type-only'] },
  ),
  error(
    'inner-window',
    'The page runs in a browser: nothing of Node.',
    { path: '^src/renderer/' },
    { dependencyTypes: ['core'] },
  ),
  error(
    'inner-processes',
    'Processes are started in three places only.',
    { path: '^src/', pathNot: '^src/host/(processes|python|sandbox)/' },
    { path: '^(node:)?child_process$' },
  ),
]

const hostRules = hostFolders.map((folder, index) => {
  const own = `^src/host/${folder.replace('.ts', '[.]ts$')}${folder.endsWith('.ts') ? '' : '/'}`
  const above = hostFolders
    .slice(index + 1)
    .map((name) => (name.endsWith('.ts') ? `${name.replace('.ts', '[.]ts')}$` : `${name}/`))
  return error(
    `host-folder-${folder}`,
    `In the host ${folder} imports only what stands before it in the table.`,
    { path: own },
    { path: `^src/host/(${above.join('|') || '(?!)'})` },
  )
})

const unknownHostFolder = error(
  'host-folder-unknown',
  'A folder of the host has its place in the table.',
  {
    path: '^src/host/',
    pathNot: `^src/host/(${hostFolders.map((name) => name.replace('.ts', '[.]ts$')).join('|')})`,
  },
  {},
)

const entrance = `^src/renderer/features/([^/]+/[A-Z][A-Za-z]*Screen|${featureEntrances.join('|')})[.]tsx?$`

const windowRules = [
  ...Object.entries(windowFolders).map(([folder, allowed]) =>
    error(
      `window-folder-${folder}`,
      `In the window ${folder} may import ${allowed.join(', ') || 'nothing else'}.`,
      { path: `^src/renderer/${folder}/` },
      { path: '^src/renderer/', pathNot: `^src/renderer/(${[folder, ...allowed].join('|')})/` },
    ),
  ),
  error(
    'window-entrances',
    'A feature is entered by its screen and what the table above names.',
    { path: '^src/renderer/(?!features/)' },
    { path: '^src/renderer/features/', pathNot: entrance },
  ),
  error(
    'window-features',
    'A feature imports of another only what that is entered by.',
    { path: '^src/renderer/features/([^/]+)/' },
    { path: '^src/renderer/features/', pathNot: ['^src/renderer/features/$1/', entrance] },
  ),
]

const siblingRules = plugins.map((folder) =>
  error(
    `siblings-${folder}`,
    'A plug-in never imports another; shared pieces go to common, types or define, the list to registry.ts.',
    { path: `^${folder}/[^/]+$`, pathNot: `^${folder}/(registry|types|define|common)[.]ts$` },
    { path: `^${folder}/[^/]+$`, pathNot: `^${folder}/(registry|types|define|common)[.]ts$` },
  ),
)

module.exports = {
  forbidden: [
    ...layerRules,
    ...doorRules,
    ...innerRules,
    ...hostRules,
    unknownHostFolder,
    ...windowRules,
    ...siblingRules,
    error('no-cycles', 'Two files that need each other are one file or three.', {}, { circular: true }),
    error(
      'no-orphans',
      'Nobody imports it and it imports nobody.',
      { orphan: true, pathNot: '[.]d[.]ts$' },
      {},
    ),
    error('not-unresolvable', 'It is not there.', {}, { couldNotResolve: true }),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true, // an `import type` is a dependency too
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'require', 'node', 'default'],
    },
  },
}
