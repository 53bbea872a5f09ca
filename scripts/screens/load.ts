/** How busy this machine is with other work. */
import { cpus } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { mostBusy, percent } from '../docs/pictures.ts'

const times = (): { readonly idle: number; readonly all: number } => {
  const each = cpus().map((cpu) => cpu.times)
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
  return { idle: sum(each.map(({ idle }) => idle)), all: sum(each.flatMap((kinds) => Object.values(kinds))) }
}

/** Share of the processors' time that was used during the next second, from 0 to 1. */
async function busyShare(): Promise<number> {
  const before = times()
  await wait(1000)
  const after = times()
  return 1 - (after.idle - before.idle) / (after.all - before.all)
}

/**
 * Waits until the processors are idle enough for a picture and returns the share that is busy. Refuses after half a minute,
 * unless `mayBeBusy`.
 */
export async function idleShare(mayBeBusy: boolean): Promise<number> {
  let least = 1
  for (let tries = 0; tries < (mayBeBusy ? 1 : 30); tries++) {
    least = Math.min(least, await busyShare())
    if (least <= mostBusy) return least
  }
  if (mayBeBusy) return least
  throw new Error(
    `The processors are ${percent(least)} busy with other work, which pictures would show. Take them on an idle machine, or pass --busy to try the script; npm run docs:check refuses what was taken that way.`,
  )
}
