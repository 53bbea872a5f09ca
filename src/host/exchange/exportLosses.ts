/** What a tool does otherwise than a run, where no single setting tells. */
import type { RunConfig } from '#shared/runConfig.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { groups } from './settingRow.ts'
import { toolTitles } from '#shared/tools.ts'
import type { ProjectTool } from './tools.ts'

/** What no single setting tells: whether it is so, and the sentence. */
interface Loss {
  readonly isSo: boolean
  readonly sentence: string
}

export const losses = (run: RunConfig, tool: ProjectTool): string[] =>
  (tool === 'trl' ? trlLosses(run) : agilerlLosses(run))
    .filter(({ isSo }) => isSo)
    .map(({ sentence }) => sentence)

function trlLosses(run: RunConfig): Loss[] {
  const { algorithm, optimization } = run
  const settings = algorithm.settings
  const lower = lowerBound(algorithm)
  return [
    ...generatingLosses(run, 'trl'),
    ...(isGroup(run) ? trlGroupLosses(settings) : []),
    {
      isSo: algorithm.id === 'cispo' && lower > 0,
      sentence: `TRL's CISPO has no lower bound of the ratio; here it is ${lower}.`,
    },
    {
      isSo: (isGroup(run) || algorithm.id === 'rloo') && isStandardized(settings),
      sentence:
        'TRL adds 1e-4 to the standard deviation that advantages are divided by, this run 1e-8: groups whose rewards hardly differ count less there.',
    },
    {
      isSo: algorithm.id === 'dpo' && settings['loss'] === 'conservative',
      sentence: 'TRL has no conservative loss of pairs: sigmoid without label smoothing was written.',
    },
    {
      isSo: algorithm.id === 'dpo' && settings['nllAlpha'] !== 0,
      sentence:
        'The likelihood of chosen answers is a mean over the tokens of each device’s batch in TRL, over those of the whole update here.',
    },
    {
      isSo: isGroup(run) && settings['lossNorm'] === 'token-mean' && optimization.minibatchSize !== null,
      sentence:
        'With several updates per step TRL divides by the mean number of tokens of an update, this run by that of each.',
    },
    {
      isSo: settings['importanceSamplingLevel'] === 'turn',
      sentence: 'A completion is one turn, so the importance ratio of turns became that of the sequence.',
    },
  ]
}

const trlGroupLosses = (settings: RunConfig['algorithm']['settings']): Loss[] => [
  {
    isSo: settings['entropyCoefficient'] !== 0,
    sentence:
      'The mean entropy that is rewarded is over the tokens of each device’s batch in TRL, over those of the whole update here.',
  },
  {
    isSo: settings['topEntropyShare'] !== 1,
    sentence:
      'The tokens of highest entropy are chosen by the policy that learns, in each device’s batch, in TRL; here by the policy that wrote them, in the whole update.',
  },
  {
    isSo: settings['maskTruncated'] === true && settings['lossNorm'] === 'trajectory-mean',
    sentence:
      'TRL divides its mean by a number that includes masked truncated completions; here they are not counted.',
  },
]

function agilerlLosses(run: RunConfig): Loss[] {
  const { algorithm, optimization } = run
  const settings = algorithm.settings
  const lower = lowerBound(algorithm)
  return [
    ...generatingLosses(run, 'agilerl'),
    {
      isSo: optimization.schedule === 'cosine',
      sentence: 'The cosine schedule ends at half the learning rate as here, but by another curve.',
    },
    {
      isSo: optimization.schedule !== 'cosine' && optimization.warmupProportion > 0,
      sentence: `optimization.warmupProportion is ${optimization.warmupProportion}; AgileRL warms up with its cosine schedule only.`,
    },
    {
      isSo: isGroup(run) && algorithm.id !== 'cispo' && Array.isArray(settings['clipCoefficient']),
      sentence:
        'AgileRL’s manifest takes one clip_coef for both sides; the wider of the two bounds was written.',
    },
    {
      isSo: algorithm.id === 'cispo' && lower > 0,
      sentence: `AgileRL's CISPO has no lower bound of the ratio; here it is ${lower}.`,
    },
    {
      isSo: isGroup(run) && settings['offPolicyThreshold'] !== null && settings['klCoefficient'] !== 0,
      sentence:
        'AgileRL also leaves out the KL term of trajectories beyond offPolicyThreshold; here, as in TRL, it stays.',
    },
    {
      isSo: isGenerating(run),
      sentence:
        'A completion to which no reward applies counts 0 in AgileRL; here it takes no part in learning.',
    },
    {
      isSo: isGenerating(run) && run.rewards.length > 1,
      sentence: 'AgileRL charts the sum of the rewards, not its parts.',
    },
  ]
}

const generatingLosses = (run: RunConfig, tool: ProjectTool): Loss[] => [
  {
    isSo: isGenerating(run) && run.evaluation.every > 0,
    sentence: `Validation prompts are answered greedily here; ${toolTitles[tool]} samples them.`,
  },
]

const isGenerating = ({ algorithm }: RunConfig): boolean =>
  algorithmById(algorithm.id).experience === 'rollout'

const isGroup = ({ algorithm }: RunConfig): boolean => groups.some((id) => id === algorithm.id)

const isStandardized = ({
  advantageNorm,
  normalizeAdvantages,
}: RunConfig['algorithm']['settings']): boolean =>
  advantageNorm === undefined ? normalizeAdvantages === true : advantageNorm !== 'mean-only'

/** CISPO has one where a pair says so. */
const lowerBound = ({ settings }: RunConfig['algorithm']): number => {
  const coefficient = settings['clipCoefficient']
  return Array.isArray(coefficient) ? Number(coefficient[0]) : 0
}
