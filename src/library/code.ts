/**
 * Names that code of losses and workflows imports from `turnwise`. Such code runs in the sandbox (host/sandbox);
 * outside of it these exports let an editor check the file and a program import it. Their public types are those of the
 * window's editor (renderer/editor/types).
 */

/** Returns the definition unchanged. */
export const defineLoss = <Definition>(written: Definition): Definition => written
export const defineWorkflow = <Definition>(written: Definition): Definition => written

const ofTensors = (name: string) => (): never => {
  throw new Error(
    `${name}() works on the tensors of a loss, which exist only inside the sandbox. To check a loss: turnwise loss check FILE`,
  )
}

export const exp = ofTensors('exp')
export const log = ofTensors('log')
export const expm1 = ofTensors('expm1')
export const log1p = ofTensors('log1p')
export const sqrt = ofTensors('sqrt')
export const abs = ofTensors('abs')
export const square = ofTensors('square')
export const sigmoid = ofTensors('sigmoid')
export const logSigmoid = ofTensors('logSigmoid')
export const tanh = ofTensors('tanh')
export const min = ofTensors('min')
export const max = ofTensors('max')
export const clip = ofTensors('clip')
export const where = ofTensors('where')
export const stopGradient = ofTensors('stopGradient')
export const sum = ofTensors('sum')
export const mean = ofTensors('mean')
export const last = ofTensors('last')
export const chosen = ofTensors('chosen')
export const rejected = ofTensors('rejected')
