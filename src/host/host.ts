/** Parts of a host; `createHost.ts` makes one. */
import type { Chats } from '#host/chat/chats.ts'
import type { ConnectionWatch } from './outboundConnections.ts'
import type { Evaluations } from '#host/evaluations/evaluations.ts'
import type { Cleared } from '#host/workFolder/leftovers.ts'
import type { RunHistory } from '#host/runs/runHistory.ts'
import type { OpenModels } from '#host/serving/openModels.ts'
import type { Serving } from '#host/serving/serving.ts'
import type { Studies } from '#host/studies/studies.ts'
import type { ObservedStorage } from './store/storage.ts'
import type { Trials } from '#host/runs/trials.ts'
import type { Asking } from '#host/processes/job.ts'
import type { AskText } from '#host/models/textQuestion.ts'
import type { RunQueue } from '#host/runs/runQueue.ts'
import type { Supervisor } from '#host/runs/supervisor.ts'

export interface Host extends ObservedStorage, Asking, AsyncDisposable {
  readonly history: RunHistory
  readonly supervisor: Supervisor
  readonly queue: RunQueue
  readonly evaluations: Evaluations
  /** Populations, sweeps and runs over seeds. */
  readonly studies: Studies
  /** Models kept open for conversations and for other programs. */
  readonly models: OpenModels
  readonly chats: Chats
  /** The model that other programs use. */
  readonly serving: Serving
  readonly connections: ConnectionWatch
  /** Asks a process of its own what a model's tokenizer and chat template make of texts. */
  readonly askText: AskText
  /** Expectations for runs from checks of their settings. */
  readonly trials: Trials
  /** Leftovers of killed processes that this host removed from the data directory when it started. */
  readonly cleared: Cleared
}
