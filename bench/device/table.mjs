/** One table of what `run.mjs` measured: a line for each figure, ours beside PyTorch's. */

const shown = (value) => (value === undefined ? '' : value >= 100 ? value.toFixed(0) : value.toPrecision(3))

/** [name, ours, of PyTorch's answer]; absent figures are undefined. */
function lines({ parts }) {
  const { decode, prefill, train, step } = parts
  const batches = (decode?.decode ?? []).map(({ batch, tokensPerSecond }) => [
    `decode ${batch}, tokens/s`,
    tokensPerSecond,
    (peer) => peer.decode?.find((entry) => entry.batch === batch)?.tokensPerSecond,
  ])
  const peaks = Object.values(parts).map((part) => part.matmulPeakGflops)
  return [
    ['matmul, GFLOP/s', peaks.find((peak) => peak !== undefined), (peer) => peer.peak?.gflops],
    ['prefill, tokens/s', prefill?.prefill?.tokensPerSecond, (peer) => peer.prefill?.tokensPerSecond],
    ...batches,
    ['train, tokens/s', train?.train?.tokensPerSecond, (peer) => peer.train?.tokensPerSecond],
    ['GRPO step, s', step?.step?.seconds, (peer) => peer.step?.seconds],
  ]
}

/** What training reaches of a matrix product's speed: our own in f32, and PyTorch's in each type. */
function shares({ parts }) {
  const { train, torch = {} } = parts
  const own = train?.train && `of our own f32 product ${percent(train.train.peakFraction)}`
  const work = train?.train && train.train.peakFraction * train.matmulPeakGflops
  const others = Object.entries(torch)
    .filter(([, peer]) => peer?.peak !== undefined)
    .map(([dtype, peer]) => {
      const peers =
        peer.train && train?.train && (work * peer.train.tokensPerSecond) / train.train.tokensPerSecond
      const theirs = peers ? `; PyTorch ${percent(peers / peer.peak.gflops)}` : ''
      return work && `of PyTorch's ${dtype} product ${percent(work / peer.peak.gflops)}${theirs}`
    })
  return [own, ...others].filter(Boolean).map((text) => `Training reaches ${text}.`)
}

const percent = (share) => `${(100 * share).toFixed(1)} %`

function sentences({ parts }) {
  const { selftest, parity, torch = {} } = parts
  const failed = Object.entries(parts).filter(([, part]) => part.failed !== undefined)
  return [
    ...(selftest?.checks
      ? [`Self-test: ${selftest.checks - selftest.failures.length} of ${selftest.checks} checks passed.`]
      : []),
    ...(parity?.parity
      ? [
          `Compared with the CPU in ${parity.parity.reference}: ${parity.parity.sameTokens} of ${parity.parity.tokens} greedy tokens equal, gradients differ by ${parity.parity.gradient.toExponential(1)}.`,
        ]
      : []),
    ...Object.entries(torch).flatMap(([dtype, peer]) =>
      peer?.logprobsApart === undefined
        ? peer?.failed === undefined
          ? []
          : [`PyTorch in ${dtype}: ${peer.failed}`]
        : [
            `PyTorch in ${dtype} on ${peer.card}: log-probabilities ${peer.logprobsApart.toExponential(1)} from ours.`,
          ],
    ),
    ...failed.flatMap(([name, part]) => failureLines(name, part)),
  ]
}

/** A part that failed: why, the checks that did, and what its programs computed on the processor instead. */
function failureLines(name, { failed, failures = [], placements = [], runtimeLog }) {
  return [
    `${name} failed: ${failed}`,
    ...failures.map((check) => `  ${check.name}: ${check.measured} of ${check.limit}. ${check.sentence}`),
    ...placements.map(
      ({ provider, nodes, sessions }) => `  ${nodes} nodes of ${sessions} programs on ${provider}`,
    ),
    ...(runtimeLog === undefined ? [] : [`  The runtime's log: ${runtimeLog}`]),
  ]
}

export function table(results) {
  const { device, shape, base, parts } = results
  const peers = Object.entries(parts.torch ?? {}).filter(([, peer]) => typeof peer === 'object')
  const rows = lines(results).map(([name, ours, of]) => [name, ours, ...peers.map(([, peer]) => of(peer))])
  const header = `| ${[`${shape} on ${device}`, `turnwise ${base}`, ...peers.map(([dtype]) => `PyTorch ${dtype}`)].join(' | ')} |`
  const body = rows
    .filter(([, ...figures]) => figures.some((figure) => figure !== undefined))
    .map(([name, ...figures]) => `| ${name} | ${figures.map(shown).join(' | ')} |`)
  return [
    header,
    `|${'---|'.repeat(2 + peers.length)}`,
    ...body,
    '',
    ...shares(results),
    ...sentences(results),
  ].join('\n')
}
