import { useAnswer } from '#renderer/client/api.tsx'
import { formatBytes, formatShare, memoryWords, plural } from '#renderer/client/format.ts'
import { useLoad, type Load } from '#renderer/client/live.ts'
import { KeyValue } from '#renderer/kit/Panel.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { CudaLibrary } from './CudaLibrary.tsx'
import { DeviceList } from './DeviceList.tsx'
import { Section } from './Section.tsx'

/** What computes here, and what runs where. */
export function DevicesSection() {
  const { data, error, refetch } = useAnswer('system.info', undefined)
  const load = useLoad()
  if (error !== null) return <ErrorNote error={error} action={<button onClick={refetch}>Try again</button>} />
  if (data === undefined) return <Loading label="Asking the runtime for its devices" />
  const { cpu, devices, platform } = data
  return (
    <>
      <Section title="This machine">
        <KeyValue
          entries={[
            ['Processor', cpu.model === '' ? 'unknown' : cpu.model],
            ['Cores', `${plural(cpu.physicalCores, 'physical core')}, ${plural(cpu.threads, 'thread')}`],
            ['A run uses', `${plural(cpu.defaultThreads, 'thread')} unless it says otherwise`],
            ...(load === null
              ? []
              : [
                  ['Busy now', formatShare(load.cpuShare)] as const,
                  [
                    'Memory',
                    `${formatBytes(load.memory.usedBytes)} of ${formatBytes(load.memory.totalBytes)} in use`,
                  ] as const,
                  ...(load.memory.training.length === 0
                    ? []
                    : [['Training takes', memoryWords(totalMemory(load.memory.training))] as const]),
                ]),
            ['System', platform],
          ]}
        />
      </Section>
      <Section
        title="Devices"
        about="A run computes on the fastest device that passed its check here, for models of its size, unless its settings name one: New run, Method, All settings, Device."
      >
        <DeviceList devices={devices} />
      </Section>
      <CudaLibrary />
      <Section
        title="What runs where"
        about="In a run on the CPU and in one on a GPU; nothing leaves this machine."
      >
        <WhatRunsWhere />
      </Section>
    </>
  )
}

const places: readonly (readonly [string, string, string])[] = [
  ['Generating completions', 'The run’s device', 'ONNX Runtime; int8 rollouts have rounded weights'],
  ['Choosing tokens', 'CPU', 'Drawn from the probabilities with the run’s seed'],
  [
    'Learning: forward and backward',
    'The run’s device',
    'Layer by layer on the CPU, in whole programs on a GPU; what that has no kernel for, the CPU computes',
  ],
  ['Optimizer', 'CPU', 'AdamW on the adapter’s parameters, in f32'],
  [
    'Reward and environment code',
    'CPU, a process of its own',
    'No files, no network, limits on time and memory',
  ],
  ['History', 'Disk of this machine', 'One database and one folder per run'],
]

const WhatRunsWhere = () => (
  <table className="w-full">
    <thead>
      <tr className="border-b border-line text-left text-sm text-muted">
        <th className="py-1 pr-4 font-medium">Part</th>
        <th className="py-1 pr-4 font-medium">Where</th>
        <th className="py-1 font-medium">How</th>
      </tr>
    </thead>
    <tbody>
      {places.map(([part, where, how]) => (
        <tr key={part} className="border-b border-line align-top last:border-b-0">
          <th scope="row" className="py-1.5 pr-4 text-left font-normal">
            {part}
          </th>
          <td className="py-1.5 pr-4 text-muted">{where}</td>
          <td className="py-1.5 text-muted text-pretty">{how}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

/** Of all runs that train. */
const totalMemory = (runs: Load['memory']['training']) => ({
  privateBytes: runs.reduce((sum, { privateBytes }) => sum + privateBytes, 0),
  mappedBytes: runs.reduce((sum, { mappedBytes }) => sum + mappedBytes, 0),
})
