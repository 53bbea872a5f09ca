/** Rows answered by a teacher: a model on this machine or behind an address. Its answers are kept as they come. */
import path from 'node:path'
import { parseJudge, type JudgeSettings } from '#shared/config/judge.ts'
import { AppError } from '#shared/errors.ts'
import type { ChatMessage } from '#shared/messages.ts'
import { promptContent } from '#rl/rollout/prompts.ts'
import type { RewardInput, RewardSpec } from '#rl/rewards.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import { makeOwnFolder } from '#host/files/ownFiles.ts'
import { scratchFolderIn } from '#host/files/scratch.ts'
import { AddressJudge } from '#host/judges/addressJudge.ts'
import { askedAt, digestText, type AskedModel, type ModelQuestion } from '#host/judges/judge.ts'
import { JudgeLog, noUsage, addUsage, type Judgement } from '#host/judges/judgeLog.ts'
import { LocalJudge } from '#host/judges/localJudge.ts'
import { RunJudges } from '#host/judges/runJudges.ts'
import { countBeside } from '#host/outboundRequests.ts'
import type { TaughtAnswer, TaughtRows, TeachingInput } from '#host/jobs/taught.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import type { Tools } from '#host/processes/job.ts'

/** Number of answers requested together; when the process is killed, at most this many are asked for again. */
const askedAtOnce = 64

/** Errors: those of models and addresses, of rewards, and of files. */
export async function answerRows(asked: TeachingInput, { say }: Tools<TaughtRows>): Promise<void> {
  const { rows, samples, config, folder, cacheDirectory, consents } = asked
  makeOwnFolder(folder)
  using scratch = scratchFolderIn(cacheDirectory)
  await using judges = new RunJudges({ folder, cacheDirectory, consents })
  await using rewards = await resolveRewards(config, scratch.folder, { consents, openJudge: judges.open })
  await using teacher = new Teacher(asked)
  const size = Math.max(1, Math.floor(askedAtOnce / samples))
  for (let from = 0; from < rows.length; from += size) {
    const problems: { row: number; problem: string }[] = []
    const questions = questionsOf(asked, { from, size }, problems)
    const answered = await teacher.answer(questions, problems)
    const answers = await scored(answered, asked, rewards.specs)
    await say({ done: Math.min(rows.length, from + size), answers, problems })
  }
}

interface RowQuestion extends ModelQuestion {
  readonly row: number
  readonly sample: number
}

type Problems = { row: number; problem: string }[]

/** A row that makes no prompt is reported, and costs no other one. */
function questionsOf(
  { rows, samples, seed, config }: TeachingInput,
  { from, size }: { readonly from: number; readonly size: number },
  problems: Problems,
): RowQuestion[] {
  return rows.slice(from, from + size).flatMap((columns, i) => {
    const row = from + i
    try {
      const content = promptContent(columns, row, config.data.prompt)
      const messages = typeof content === 'string' ? [{ role: 'user', content }] : content
      return Array.from({ length: samples }, (_, sample) => ({ row, sample, messages, seed: seed + sample }))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      problems.push({ row, problem: error.message })
      return []
    }
  })
}

interface AnsweredQuestion extends RowQuestion {
  readonly text: string
  readonly isTruncated: boolean
}

/** Model that answers the questions. In its log, the score of an answer is 1 where it came to its end, else 0. */
class Teacher implements AsyncDisposable {
  readonly #model: AskedModel
  readonly #log: JudgeLog
  readonly #digest: string

  constructor({ teacher, folder, cacheDirectory, consents, rows, samples }: TeachingInput) {
    const settings = parseJudge({ ...teacher, read: 'parsed' }, 'teacher')
    const own = path.join(folder, 'teacher')
    makeOwnFolder(own)
    this.#digest = teacherDigest(settings)
    this.#log = new JudgeLog(own, { limit: Math.max(minimumKept, 2 * rows.length * samples) })
    this.#model =
      settings.model === ''
        ? new AddressJudge({
            settings,
            keys: { consents, environment: process.env },
            onRequest: () => countBeside(cacheDirectory, 'teacher'),
            who: 'teacher',
          })
        : new LocalJudge(settings, cacheDirectory, 'the teacher')
  }

  /** Questions it cannot answer are among the problems. */
  async answer(questions: readonly RowQuestion[], problems: Problems): Promise<AnsweredQuestion[]> {
    const open = questions.filter((question) => this.#find(question) === null)
    for await (const group of open.length === 0 ? [] : this.#model.ask(open)) {
      const kept = new Map<string, Judgement>()
      for (const { index, answer } of group) {
        const question = askedAt(open, index)
        if ('problem' in answer) problems.push({ row: question.row, problem: answer.problem })
        else kept.set(keyOf(question), { score: answer.isTruncated === true ? 0 : 1, text: answer.text })
      }
      if (kept.size > 0)
        this.#log.add(
          this.#digest,
          kept,
          group.reduce((sum, { usage }) => addUsage(sum, usage), noUsage),
        )
    }
    return questions.flatMap((question) => {
      const found = this.#find(question)
      return found === null ? [] : [{ ...question, text: found.text, isTruncated: found.score === 0 }]
    })
  }

  #find(question: RowQuestion): Judgement | null {
    return this.#log.find(this.#digest, keyOf(question))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#model[Symbol.asyncDispose]()
    this.#log[Symbol.dispose]()
  }
}

const minimumKept = 32_768

const keyOf = ({ messages, seed }: ModelQuestion): string => digestText(JSON.stringify([messages, seed]))

/** Digest of everything that its answers depend on, besides prompts and seeds. */
function teacherDigest(settings: JudgeSettings): string {
  const { model, adapter, precision, device, address, servedModel, temperature, maxNewTokens } = settings
  return digestText(
    JSON.stringify([model, adapter, precision, device, address, servedModel, temperature, maxNewTokens]),
  )
}

async function scored(
  answers: readonly AnsweredQuestion[],
  { rows }: TeachingInput,
  specs: readonly RewardSpec[],
): Promise<TaughtAnswer[]> {
  const inputs = answers.map(({ row, messages, text }): RewardInput => ({
    prompt: textOf(messages),
    completion: text,
    row: rows[row] ?? {},
    step: 0,
  }))
  const rewards = specs.length === 0 ? [] : await scoreRewards(specs, inputs, 'null')
  return answers.map(({ row, sample, text, isTruncated }, i) => ({
    row,
    sample,
    text,
    isTruncated,
    reward: rewards[i]?.total ?? null,
  }))
}

const textOf = (messages: readonly ChatMessage[]): string =>
  messages.map(({ content }) => content).join('\n\n')
