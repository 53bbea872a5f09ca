/** How Turnwise is asked for one item, and how its report is read. The only file that knows `turnwise bench`. */
import { dataFolder, modelFolder, pinnedNode, turnwise } from './places.mjs'

export function oursCommand(item, activations, base = 'f32') {
  const common = ['bench', '--json', '--data-dir', dataFolder, '--model', `${modelFolder(item.shape)}/hf`]
  const part = ['--only', item.kind, '--threads', String(item.threads), '--steps', String(item.steps)]
  const what =
    item.kind === 'train'
      ? ['--lengths', `${item.rows}x${item.length}`, '--activations', activations, '--base', base]
      : ['--batch', String(item.batch), ...weights(item), '--rank', '0'] // as the peers: no adapter
  // On its own Node the launcher becomes the process that works, so that its memory is what is watched.
  return { command: pinnedNode(), args: [turnwise, ...common, ...part, ...what] }
}

/** 8 bits are a choice of rollouts, 4 bits one of the whole base. */
const weights = ({ precision }) => (precision === 'int4' ? ['--base', 'int4'] : ['--precision', precision])

/** → { tokensPerSecond, anonymousBytes while training, peakFraction, matmulGflops } */
export function readOurs(item, output) {
  const report = JSON.parse(output)
  const { matmulPeakGflops: matmulGflops } = report
  if (item.kind === 'decode') return { tokensPerSecond: report.decode[0].tokensPerSecond, matmulGflops }
  const { tokensPerSecond, peakFraction, anonymousBytes } = report.train
  return { tokensPerSecond, peakFraction, anonymousBytes, matmulGflops }
}
