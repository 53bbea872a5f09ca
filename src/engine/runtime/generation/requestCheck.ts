/** Checks that a generation makes before any work. */
import { invalidConfig, invalidData } from '#shared/errors.ts'
import type { GenerateOptions, GenerationRequest, SamplingOptions } from '#engine/policy.ts'

interface Limits extends Pick<GenerateOptions, 'sampling' | 'decode'> {
  readonly maxRows: number
  readonly contextLength: number
  readonly prefillTokens: number
}

export function checkRequest(
  request: GenerationRequest,
  index: number,
  { contextLength, decode }: Limits,
): void {
  checkPrompt(request, index, contextLength)
  if (request.sampling) checkSampling(request.sampling, decode)
}

function checkPrompt({ promptIds }: GenerationRequest, index: number, contextLength: number): void {
  if (promptIds.length === 0) {
    throw invalidData(`Prompt ${index + 1} is empty.`, 'Give the model at least one token to continue.')
  }
  if (promptIds.length >= contextLength) {
    throw invalidData(
      `Prompt ${index + 1} has ${promptIds.length} tokens, which leaves no room for a completion in a context of ${contextLength}.`,
      'Shorten the prompt, or raise the context length if the model allows it.',
    )
  }
}

function samplingProblems(sampling: SamplingOptions): string[] {
  const { greedy, temperature, maxNewTokens, repetitionPenalty, stopStrings } = sampling
  const isPositive = (value: number) => Number.isFinite(value) && value > 0
  const problems: string[] = []
  if (!greedy && !isPositive(temperature)) problems.push(`temperature must be above 0, got ${temperature}`)
  if (!isPositive(repetitionPenalty)) {
    problems.push(`repetition penalty must be above 0, got ${repetitionPenalty}`)
  }
  if (!(maxNewTokens >= 1)) problems.push(`new tokens must be at least 1, got ${maxNewTokens}`)
  if (stopStrings.includes('')) problems.push('a stop string must not be empty')
  return problems
}

function checkSampling(sampling: SamplingOptions, decode: GenerateOptions['decode']): void {
  const problems = samplingProblems(sampling)
  if (problems.length > 0) {
    throw invalidConfig(`Sampling cannot start: ${problems.join('; ')}.`)
  }
  if (sampling.stopStrings.length > 0 && !decode) {
    throw new Error('Expected `decode` with stop strings, got none.')
  }
}

export function checkOptions({ sampling, decode, maxRows, prefillTokens }: Limits): void {
  checkSampling(sampling, decode)
  if (!(maxRows >= 1)) throw new Error(`Expected \`maxRows\` to be at least 1, got ${maxRows}.`)
  if (!(prefillTokens >= 1)) {
    throw new Error(`Expected \`prefillTokens\` to be at least 1, got ${prefillTokens}.`)
  }
}
