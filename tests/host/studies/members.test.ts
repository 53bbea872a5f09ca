/** Members of populations beside single runs: with a critic, an environment, a workflow and stages, to the last bit. */
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { StudyEntry } from '#shared/api/studies.ts'
import { withChanges, type JsonObject } from '#shared/config/paths.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { openRunFolder } from '#host/workFolder/runFolder.ts'
import { createHostFixture, smallConfig } from '../api/hostFixture.ts'
import { learnedBy, tensorsOf } from '../runs/runFixture.ts'
import { eachOf } from '../../sweeps.ts'

const fixture = createHostFixture()
const { client, host, directory } = fixture

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  expect(fixture.faults).toEqual([])
})

const workflow = {
  function: path.join(resourcesDirectory, 'workflows', 'self-correction.ts'),
  settings: { attempts: 2, feedback: 'Again' },
}
const common = { ...smallConfig, device: { threads: 1 } }
const { steps: _, ...staged } = common
const demonstrations = { algorithm: { id: 'sft' }, optimization: { minibatchSize: 2 } }

interface Case {
  readonly config: JsonObject
  readonly mutated: string
  /** How long a generation and all of it are. */
  readonly every: number
  readonly steps: number
  /** Files of tensors in a checkpoint: of the adapter, its optimizer, and a critic. */
  readonly tensors: number
}

const learningRate = { mutated: 'optimization.learningRate', tensors: 3 }
const cases: Readonly<Record<string, Case>> = {
  'PPO in an environment, whose clones have the critic of their parent': {
    config: {
      ...common,
      steps: 2,
      rewards: [],
      algorithm: { id: 'ppo' },
      evaluation: { every: 1, rows: 2 },
      environment: { function: 'number-guessing', maxTurns: 3 },
    },
    mutated: 'optimization.criticLearningRate',
    tensors: 5,
    every: 1,
    steps: 2,
  },
  'a generation that ends with a stage': {
    config: { ...staged, stages: [{ ...demonstrations, steps: 1 }, { steps: 1 }] },
    ...learningRate,
    every: 1,
    steps: 2,
  },
  'a workflow, in a generation that ends within a stage': {
    config: {
      ...staged,
      rollout: { ...staged.rollout, workflow },
      stages: [{ ...demonstrations, steps: 1 }, { steps: 3 }],
    },
    ...learningRate,
    every: 2,
    steps: 4,
  },
}

/** The member that trained from the first step to the last, the clone, and the run that this is a clone of. */
function membersOf({ trials }: StudyEntry) {
  const survivor = trials.find(({ results }) => results.length === 2)
  const clone = trials.find(({ parent }) => parent !== null)
  const parent = trials[clone?.parent?.index ?? -1]
  if (!survivor?.runId || !clone?.runId || !parent?.runId) throw new Error('Expected a survivor and a clone.')
  return {
    survivor: { ...survivor, runId: survivor.runId },
    clone: { ...clone, runId: clone.runId },
    parentId: parent.runId,
  }
}

/** In every run the one with the most to copy. */
const isAlways = ([, { tensors }]: [string, Case]) => tensors === 5

eachOf(
  test,
  { rows: Object.entries(cases), isAlways },
  '%s',
  async (_, { config, mutated, tensors, every, steps }) => {
    const parameters = { [mutated]: { min: 1e-4, max: 1e-2 } }
    const population = {
      size: 2,
      every,
      tournament: 1,
      mutation: { probability: 1, elite: false, parameters },
    }
    const { id } = await client.call('studies.start', { file: { ...config, parallel: 1, population } })
    const study = await host.studies.ended(id)
    expect(study).toMatchObject({ status: 'finished', error: null })
    const { survivor, clone, parentId } = membersOf(study)
    expect(clone.mutation?.key).toBe(mutated)

    const alone = await client.call('runs.start', {
      config: withChanges(config, survivor.settings) as typeof smallConfig,
    })
    const forked = await client.call('runs.fork', {
      runId: parentId,
      step: every,
      start: true,
      changes: clone.settings,
    })
    const pairs = [
      [survivor.runId, alone.runId],
      [clone.runId, forked.runId],
    ] as const
    for (const [member, run] of pairs) {
      await fixture.reached(run, 'finished')
      const [own, other] = [openRunFolder(directory, member), openRunFolder(directory, run)]
      expect(learnedBy(own)).toEqual(learnedBy(other))
      expect(tensorsOf(own, steps)).toEqual(tensorsOf(other, steps))
      expect(Object.keys(tensorsOf(own, steps))).toHaveLength(tensors)
    }
  },
)
