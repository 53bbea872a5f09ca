/**
 * Keeps the processes of sandboxes that answered all they were asked for whoever opens code next. Starting one, and compiling
 * the virtual machine in it, takes longer than most of what tests run there. Code that is loaded takes the place of what was
 * loaded before, as in the product when code is refused and mended; a process in which anything was stopped, or that may
 * still be at work, is ended as ever.
 */
import { Overrun } from '#host/processes/workLimit.ts'
import { SandboxLink } from '#host/sandbox/sandboxLink.ts'

const idle: SandboxLink[] = []
/** Kept waiting at most. */
const most = 3

const startOwn = SandboxLink.start.bind(SandboxLink)

SandboxLink.start = async (): Promise<SandboxLink> => {
  const link = idle.pop() ?? (await startOwn())
  /** Answers that it owes; infinitely many once it is of no more use. */
  let owed = 0
  return Object.create(SandboxLink.prototype, {
    send: {
      value(message: Parameters<SandboxLink['send']>[0]) {
        owed += message.type === 'run' ? message.inputs.length : 1
        link.send(message)
      },
    },
    next: {
      async value(limit: Parameters<SandboxLink['next']>[0]) {
        const news = await link.next(limit)
        if (news instanceof Overrun || news.type === 'gone') owed = Infinity
        else owed -= news.type === 'answers' ? news.answers.length : 1
        return news
      },
    },
    [Symbol.dispose]: {
      value() {
        if (owed === 0 && idle.length < most) idle.push(link)
        else link[Symbol.dispose]()
        owed = Infinity // disposed twice, it is kept once
      },
    },
  }) as SandboxLink
}
