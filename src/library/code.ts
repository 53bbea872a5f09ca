/**
 * Names that code of losses and workflows imports from `turnwise`. Such code runs in the sandbox (host/sandbox);
 * outside of it these exports let an editor check the file and a program import it. Their public types are those of the
 * window's editor (renderer/editor/types).
 */
import { lossFunctions } from '#shared/lossLanguage.ts'

/** Returns the definition unchanged. */
export const defineLoss = <Definition>(written: Definition): Definition => written
export const defineWorkflow = <Definition>(written: Definition): Definition => written
/** Returns the functions unchanged: only the sandbox plays them. */
export const defineTools = <Functions>(functions: Functions, _options?: object): Functions => functions

const ofTensors = (name: string) => (): never => {
  throw new Error(
    `${name}() works on the tensors of a loss, which exist only inside the sandbox. To check a loss: turnwise loss check FILE`,
  )
}

const byName = Object.fromEntries(lossFunctions.map(([, { as }]) => [as, ofTensors(as)]))

/** A module has to name what it exports; a test compares the names with the table. */
export const { exp, log, expm1, log1p, sqrt, abs, square, sigmoid, logSigmoid, tanh, min, max } = byName
export const { clip, where, stopGradient, sum, mean, last, chosen, rejected } = byName
