/** The options of run.mjs: what is wrong with one ends it with a sentence, before anything is measured. */
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const usage = `Usage: node bench/device/run.mjs --device cpu|webgpu|cuda|dml|coreml
  [--shape smol-30m] [--base f32] [--only selftest,parity,prefill,decode,train,step,torch]
  [--batch 1,8,16] [--lengths 8x256] [--steps 3] [--seconds 540] [--stop]
  [--torch PARTS] [--python python3] [--out results/device.json] [--data .data] [--row NAME] [--tables FILE]`

function refuse(sentence) {
  console.error(`run.mjs: ${sentence}`)
  process.exit(2)
}

const text = (value) => ({ type: 'string', default: value })

const optionsOf = (here, parts) => ({
  help: { type: 'boolean', short: 'h', default: false },
  device: text('webgpu'),
  shape: text('smol-30m'),
  base: text('f32'),
  only: text(parts.join(',')),
  batch: text('1,8,16'),
  lengths: text('8x256'),
  steps: text('3'),
  seconds: text('540'),
  stop: { type: 'boolean', default: false },
  torch: text(''),
  python: text('python3'),
  out: text(join(here, 'results', 'device.json')),
  data: text(join(here, '.data')),
  row: text(''),
  tables: text(''),
})

function parsed(here, parts) {
  try {
    return parseArgs({ options: optionsOf(here, parts) }).values
  } catch (error) {
    return refuse(error.message.split('. ')[0])
  }
}

const numbers = {
  batch: [/^[1-9]\d{0,5}(,[1-9]\d{0,5})*$/, 'numbers of rows, such as 1,8,16'],
  lengths: [/^\d{1,6}x\d{1,7}(-\d{1,7})?$/, 'ROWSxTOKENS, such as 8x256'],
  steps: [/^[1-9]\d{0,5}$/, 'a whole number from 1'],
  seconds: [/^[1-9]\d{0,5}$/, 'a whole number from 1'],
}

/** Reads the options that the process was given. */
export function givenOptions({ here, parts, turnwiseParts }) {
  const flags = parsed(here, parts)
  if (flags.help || process.argv.length === 2) {
    ;(flags.help ? console.log : console.error)(usage)
    process.exit(flags.help ? 0 : 2)
  }
  for (const [name, known] of [
    ['only', parts],
    ['torch', turnwiseParts],
  ]) {
    const unknown = flags[name].split(',').filter((part) => !known.includes(part))
    if (flags[name] !== '' && unknown.length > 0)
      refuse(`--${name}: there is no “${unknown.join(', ')}”. There are ${known.join(', ')}.`)
  }
  if (flags.only === '') refuse('--only names no part.')
  for (const [name, [pattern, takes]] of Object.entries(numbers))
    if (!pattern.test(flags[name])) refuse(`--${name} takes ${takes}, not “${flags[name]}”.`)
  return flags
}
