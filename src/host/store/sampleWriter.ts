/** Writes the samples of an event down. */
import type { Connection } from './connection.ts'
import type { KnownEvent, KnownSample } from './loggedEvents.ts'
import type { NamesTable } from './names.ts'

type SamplesEvent = Extract<KnownEvent, { type: 'samples' }>

export class SampleWriter {
  readonly #db: Connection
  readonly #names: NamesTable
  readonly #run: number

  constructor(db: Connection, names: NamesTable, run: number) {
    this.#db = db
    this.#names = names
    this.#run = run
  }

  write(seq: number, event: SamplesEvent): void {
    for (const [position, sample] of event.samples.entries()) {
      const key = this.#insert(seq, position, { step: event.step, source: event.source, sample })
      for (const [name, value] of Object.entries(sample.parts)) {
        const part = this.#names.keyOf(name)
        this.#db.run(
          'INSERT OR REPLACE INTO sample_parts (sample, part, value) VALUES (?, ?, ?)',
          key,
          part,
          value,
        )
      }
      if (sample.arrays) this.#insertArrays(key, sample.arrays)
    }
  }

  /** Forgets every event from `keep` on. */
  rewind(keep: number): void {
    this.#db.run('DELETE FROM samples WHERE run = ? AND seq >= ?', this.#run, keep)
  }

  #insert(
    seq: number,
    position: number,
    { step, source, sample }: Pick<SamplesEvent, 'step' | 'source'> & { readonly sample: KnownSample },
  ): number {
    const { key } = this.#db.run(
      `INSERT INTO samples (run, seq, position, step, source, row, prompt, completion, reward, advantage, tokens,
         stop_reason, logged, failures, has_arrays) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[this.#run, seq, position, step, source, sample.row, sample.prompt, sample.completion],
      ...[sample.reward, sample.advantage, sample.tokens, sample.stopReason],
      ...[textOf(sample.logged), textOf(sample.failures), sample.arrays ? 1 : 0],
    )
    return key
  }

  #insertArrays(sample: number, arrays: NonNullable<KnownSample['arrays']>): void {
    this.#db.run(
      `INSERT INTO sample_arrays (sample, ids, action_mask, logprobs, behavior_logprobs, reference_logprobs, entropies,
         advantages) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[sample, bytesOf(arrays.ids), bytesOf(arrays.actionMask), bytesOf(arrays.logprobs)],
      ...[bytesOf(arrays.behaviorLogprobs), bytesOf(arrays.referenceLogprobs)],
      ...[bytesOf(arrays.entropies), bytesOf(arrays.advantages)],
    )
  }
}

const bytesOf = (text: string | null): Uint8Array | null =>
  text === null ? null : Buffer.from(text, 'base64')

const textOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))
