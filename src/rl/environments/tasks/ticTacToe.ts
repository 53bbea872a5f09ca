import { invalidConfig } from '#shared/errors.ts'
import type { SequentialRandom } from '#shared/random.ts'
import { doubt } from '../common.ts'
import { defineTask, lastInteger } from './common.ts'

/** Nine characters: X is the policy, O the opponent, . free. */
type Board = string

const lines = [
  [0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6],
] // prettier-ignore

const opponents = ['random', 'careful'] as const

/**
 * The policy is X, a scripted opponent O. `random` moves anywhere; `careful` wins where it can, else keeps X from winning,
 * else moves anywhere. A move that cannot be made ends the game.
 */
export const ticTacToe = defineTask({
  id: 'tic-tac-toe',
  description:
    'Several turns against a scripted opponent: win 1, draw 0.5, loss 0, a move that cannot be made −0.5.',
  settings: { opponent: 'careful', begins: 'policy', win: 1, draw: 0.5, loss: 0, illegal: -0.5 },
  create({ opponent, begins, win, draw, loss, illegal }) {
    const isCareful = opponent === 'careful'
    if (!opponents.some((name) => name === opponent)) {
      throw invalidConfig('The setting “opponent” of tic-tac-toe is random or careful.')
    }
    if (begins !== 'policy' && begins !== 'opponent') {
      throw invalidConfig('The setting “begins” of tic-tac-toe is policy or opponent.')
    }
    const over = (reward: number, won: boolean) => ({
      reward,
      terminated: true,
      metrics: { correct: Number(won) },
    })
    return {
      maxTurns: 5,
      reset({ random }) {
        const empty = '.........'
        const state = begins === 'policy' ? empty : afterReply(empty, isCareful, random)
        return { state, observation: `${rules}\n\n${drawn(state)}` }
      },
      step({ state, action, random }) {
        const cell = (lastInteger(action) ?? 0) - 1
        if (state[cell] !== '.') return over(illegal, false)
        const mine = placed(state, cell, 'X')
        if (hasWon(mine, 'X')) return over(win, true)
        if (!mine.includes('.')) return over(draw, false)
        const next = afterReply(mine, isCareful, random)
        if (hasWon(next, 'O')) return over(loss, false)
        if (!next.includes('.')) return over(draw, false)
        return { state: next, reward: 0, observation: drawn(next) }
      },
    }
  },
  doubts: ({ win, draw, loss, illegal }) => [
    ...(win <= draw ? [doubt('win', `${win}, no more than a draw earns (${draw}).`)] : []),
    ...(draw < loss ? [doubt('draw', `${draw}, less than losing earns (${loss}).`)] : []),
    ...(illegal > loss
      ? [doubt('illegal', `${illegal}; a forbidden move earns more than losing (${loss}).`)]
      : []),
    ...([win, draw, loss, illegal].some((reward) => Math.abs(reward) > 1000)
      ? [doubt('win', `${win}, draw ${draw}, loss ${loss}, illegal ${illegal}; −1 to 1 is usual.`)]
      : []),
  ],
})

const rules =
  'We play tic-tac-toe. You are X. Free cells show their number; answer with the number of the cell you take, alone.'

const placed = (board: Board, cell: number, mark: string): Board =>
  board.slice(0, cell) + mark + board.slice(cell + 1)

const hasWon = (board: Board, mark: string): boolean =>
  lines.some((line) => line.every((cell) => board[cell] === mark))

function drawn(board: Board): string {
  const cells = [...board].map((mark, cell) => (mark === '.' ? String(cell + 1) : mark))
  return [0, 3, 6].map((from) => cells.slice(from, from + 3).join(' ')).join('\n')
}

function afterReply(board: Board, isCareful: boolean, random: SequentialRandom): Board {
  const free = [...board].flatMap((mark, cell) => (mark === '.' ? [cell] : []))
  const completing = (mark: string) => free.find((cell) => hasWon(placed(board, cell, mark), mark))
  const urgent = isCareful ? (completing('O') ?? completing('X')) : undefined
  return placed(board, urgent ?? free[random.integer(free.length)]!, 'O')
}
