/** A data directory in which no screen of the window is empty. */
import { places } from '#shared/places.ts'
import { addTrainedRun, demoConfig, demoFile, expect, starter, type App } from './support.ts'

/** A little of everything, so that no screen is empty; resolves with the routes of all of them. */
export async function furnish(app: App): Promise<readonly string[]> {
  const { client } = app
  const rollout = { promptsPerStep: 2, groupSize: 2, maxNewTokens: 8 }
  const settings = { steps: 2, rollout, evaluation: { every: 1, rows: 2 } }
  const run = await addTrainedRun(app, 'first')
  const other = await addTrainedRun(app, 'second', 1)
  let versionId = ''
  const source = { path: demoFile('heldout.jsonl') }
  for await (const item of client.stream('datasets.import', { source, name: 'tasks' })) {
    if ('result' in item) versionId = item.result.version.id
  }
  const gallery = await client.call('rewards.gallery')
  const code = (kind: 'reward' | 'environment') =>
    gallery.find((each) => each.kind === kind && each.code !== null)!
  const create = async (kind: 'reward' | 'environment') => {
    const { id } = await client.call('rewards.create', { kind, name: `my ${kind}` })
    await client.call('rewards.save', {
      rewardId: id,
      language: code(kind).language!,
      code: code(kind).code!,
    })
    return id
  }
  const mutation = { parameters: { 'optimization.learningRate': { min: 1e-4, max: 1e-2 } } }
  const { id: study } = await client.call('studies.start', {
    file: { ...demoConfig(settings), population: { size: 2, every: 1, mutation } },
  })
  const [reward, environment] = [await create('reward'), await create('environment')]
  for (const step of [null, 3])
    await client.call('evaluations.start', { subject: { runId: run, step }, limit: 6 })
  await expect
    .poll(async () => (await client.call('evaluations.list', {})).map(({ status }) => status))
    .toEqual(['finished', 'finished'])
  await expect.poll(async () => (await client.call('studies.get', { id: study })).status).toBe('finished')
  const tabs = (route: string, names: readonly string[]) => names.map((name) => route.replace('*', name))
  return [
    ...places.flatMap(({ views }) => views.map(({ route }) => route)),
    `/data/${versionId}`,
    ...tabs(`/data/${versionId}?tab=*`, ['prompt', 'lengths', 'split', 'difficulty', 'answers', 'problems']),
    `/rewards/${reward}`,
    `/rewards/environments/${environment}`,
    `/new-run?data=${versionId}&model=${encodeURIComponent(starter)}`,
    ...tabs(`/runs/${run}/*`, ['overview', 'samples', 'diagnosis', 'checkpoints', 'config', 'log']),
    ...tabs(`/runs/studies/${study}?tab=*`, ['lineage', 'trials']),
    `/runs/compare?runs=${run},${other}`,
    '/playground/evaluate?new=any',
    '/models/starter',
    `/models/export?run=${run}&step=3`,
    '/nowhere',
  ]
}
