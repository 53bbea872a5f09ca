/** Closing and quitting: neither ever loses a run that is being trained, and the user decides what happens to it. */
import type { MessageBoxOptions } from 'electron'

/** Choices of the user in the order of the buttons. */
const closeChoices = ['background', 'stop', 'cancel'] as const
export type CloseChoice = (typeof closeChoices)[number]

export const choiceAt = (button: number): CloseChoice => closeChoices[button] ?? 'cancel'

const runs = (count: number): string => (count === 1 ? 'A run is' : `${count} runs are`)

const closeQuestion = (training: number): MessageBoxOptions => ({
  type: 'question',
  message: `${runs(training)} being trained`,
  detail:
    'In the background training goes on, and the icon in the tray shows how far it is. ' +
    'Stopping waits for the current step and keeps a checkpoint to go on from.',
  buttons: ['Keep training in the background', 'Stop and save', 'Cancel'],
  defaultId: 0,
  cancelId: 2,
  noLink: true,
})

const impatientQuestion = (training: number): MessageBoxOptions => ({
  type: 'warning',
  message: `${runs(training)} still in a step`,
  detail:
    'Turnwise quits by itself as soon as the checkpoint is written. Stopping at once loses what was learned since the last one.',
  buttons: ['Keep waiting', 'Stop at once'],
  defaultId: 0,
  cancelId: 0,
  noLink: true,
})

export interface LeavingOptions {
  /** True if closing the window leaves the program running, as is usual on macOS. */
  readonly staysWithoutWindow: boolean
  readonly training: () => number
  /** Shows a question; resolves with the index of the button. */
  readonly ask: (question: MessageBoxOptions) => Promise<number>
  readonly hide: () => void
  /** Announces that the program ends once `runs` runs have saved a checkpoint. */
  readonly showStopping: (runs: number) => void
  /** Ends every training process at once. */
  readonly kill: () => void
  /** Stops every run after its step, with a checkpoint, and closes what is open. */
  readonly close: () => Promise<void>
  readonly exit: () => void
}

interface Preventable {
  preventDefault(): void
}

export class Leaving {
  readonly #options: LeavingOptions
  #state: 'staying' | 'stopping' | 'gone' = 'staying'
  #isAsking = false

  constructor(options: LeavingOptions) {
    this.#options = options
  }

  async windowClosing(event: Preventable): Promise<void> {
    if (this.#state === 'gone') return
    event.preventDefault()
    const { training, staysWithoutWindow, hide } = this.#options
    if (this.#state === 'staying' && training() === 0 && staysWithoutWindow) hide()
    else await this.#askToLeave()
  }

  async quitting(event: Preventable): Promise<void> {
    if (this.#state === 'gone') return
    event.preventDefault()
    await this.#askToLeave()
  }

  /** Quits without a question, at the system's request. Resolves when all is saved. */
  async leave(): Promise<void> {
    if (this.#state !== 'staying') return
    const { training, showStopping, close, exit } = this.#options
    this.#state = 'stopping'
    if (training() > 0) showStopping(training())
    try {
      await close()
    } finally {
      this.#state = 'gone'
      exit()
    }
  }

  /** Asks one question at a time. */
  async #askToLeave(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    try {
      await (this.#state === 'stopping' ? this.#askToHurry() : this.#askWhatToDo())
    } finally {
      this.#isAsking = false
    }
  }

  async #askWhatToDo(): Promise<void> {
    const { training, ask, hide } = this.#options
    const choice = training() === 0 ? 'stop' : choiceAt(await ask(closeQuestion(training())))
    if (choice === 'background') hide()
    // Not awaited, so that a second request to quit is handled while it stops.
    if (choice === 'stop') void this.leave()
  }

  async #askToHurry(): Promise<void> {
    const { training, ask, kill } = this.#options
    if (training() === 0) return
    const button = await ask(impatientQuestion(training()))
    if (button === 1) kill()
  }
}
