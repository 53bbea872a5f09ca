import { AppError } from '#shared/errors.ts'
import { defineTask, isTurns } from '../tasks/common.ts'
import { PythonRandom } from './pythonRandom.ts'

interface GridState {
  readonly position: number
  readonly target: number
  readonly turn: number
}

/**
 * A walk on a line: 1 is left, 2 stays, 3 is right. Start and target are shown once, then the position alone, so the target
 * must be remembered. Columns `position` and `target` of a row are taken instead of drawn ones.
 */
export const gridNavigation = defineTask({
  id: 'probe-grid',
  description:
    'Probe of several turns: walk to a target that is shown once. +1 there, −1 when turns run out.',
  settings: { size: 4, turns: 5, stepCost: -0.1 },
  create: ({ size, turns, stepCost }) => {
    if (!(Number.isInteger(size) && size >= 2 && size <= 10) || !isTurns(turns))
      throw new AppError(
        'config/invalid',
        'The environment “probe-grid” has 2 to 10 cells and 1 to 1000 turns.',
      )
    return {
      maxTurns: turns,
      reset({ row, seed }) {
        const random = new PythonRandom(seed)
        const drawn = random.integer(0, size - 1)
        const position = typeof row['position'] === 'number' ? row['position'] : drawn
        const others = Array.from({ length: size }, (_, cell) => cell).filter((cell) => cell !== position)
        const aim = random.choice(others)
        const target = typeof row['target'] === 'number' ? row['target'] : aim
        return {
          state: { position, target, turn: 0 } satisfies GridState,
          observation: `${position}${target}`,
        }
      },
      step({ state, action }) {
        const move = { '1': -1, '2': 0, '3': 1 }[/[123]/.exec(action)?.[0] ?? '2'] ?? 0
        const position = Math.min(Math.max(state.position + move, 0), size - 1)
        const next = { ...state, position, turn: state.turn + 1 }
        const told = { state: next, observation: String(position) }
        if (position === state.target) return { ...told, reward: 1, done: true, metrics: { correct: 1 } }
        if (next.turn >= turns) return { ...told, reward: -1, done: true, metrics: { correct: 0 } }
        return { ...told, reward: stepCost }
      },
    }
  },
})
