/** The line above the picture: how far the graph is, what it waits for, which graph, stop all. */
import type { GraphHead } from '../src/feed/wire.ts'
import type { Question } from './ask-dialog.tsx'
import { freshClick } from './desk.ts'
import { endedIn, oldestWait, STATUSES, type GraphModel } from './graph-model.ts'
import { usePage, type Page } from './page.ts'
import { MarkIcon } from './status-mark.tsx'
import { waitText } from './words.ts'

export interface HeadProps {
  readonly sessionId: string
  readonly model: GraphModel
  readonly head: GraphHead
  readonly isPast: boolean
  readonly titleOf: (id: string) => string
  readonly onEpoch: (graphId: string) => void
  readonly onAsk: (question: Question) => void
}

export function GraphHeadLine({ sessionId, model, head, isPast, titleOf, onEpoch, onAsk }: HeadProps) {
  const page = usePage()
  const { words } = page
  const { say, clock, count } = words
  const { finish, wait, nextWakeAt } = head
  const waiting = oldestWait(model.works)
  const phase =
    finish === undefined
      ? say(`phase.${head.phase}`)
      : say('phase.closedAt', { time: clock(finish.finishedAt), reason: finish.reason })
  return (
    <header className="dg-head">
      <div className="dg-row">
        <strong data-testid="dg-progress">
          {say('head.progress', { done: endedIn(model), total: model.works.size })}
        </strong>
        <span data-testid="dg-phase">{phase}</span>
        <span className="dg-faint">
          {say('head.tokens', { in: count(head.inputTokens), out: count(head.outputTokens) })}
        </span>
        <span className="dg-space" />
        {head.epochs.length < 2 ? null : (
          <label>
            <span className="dg-hidden">{say('epoch.label')}</span>
            <select
              value={head.graphId}
              onChange={(event) => onEpoch(event.target.value)}
              data-testid="dg-epoch"
            >
              {head.epochs.map(({ epoch, graphId, createdAt }) => (
                <option key={graphId} value={graphId}>
                  {say('epoch.name', { epoch, time: clock(createdAt) })}
                </option>
              ))}
            </select>
          </label>
        )}
        <StopAll sessionId={sessionId} head={head} isPast={isPast} onAsk={onAsk} page={page} />
      </div>
      <ul className="dg-counts" data-testid="dg-counts">
        {STATUSES.filter((status) => model.counts[status] > 0).map((status) => (
          <li key={status}>
            <MarkIcon mark={status} /> {model.counts[status]} {say(`status.${status}`)}
          </li>
        ))}
        {model.held === 0 ? null : (
          <li>
            <MarkIcon mark="held" /> {model.held} {say('status.held')}
          </li>
        )}
      </ul>
      <p className="dg-faint dg-now" data-testid="dg-now">
        {[
          waiting === undefined
            ? atWork(page, model)
            : `${waiting.title}: ${waitText(words, waiting, titleOf)}`,
          wait === undefined ? undefined : say(wait.until === 'all' ? 'head.waitAll' : 'head.waitAny'),
          nextWakeAt === undefined ? undefined : say('head.nextWake', { time: clock(nextWakeAt) }),
        ]
          .filter((part) => part !== undefined)
          .join(' · ')}
      </p>
    </header>
  )
}

/** Nothing waits for anything else than what its own session says. */
function atWork({ words: { say } }: Page, { counts }: GraphModel): string | undefined {
  if (counts.running === 0) return undefined
  return `${counts.running} ${say('status.running')}: ${say(counts.running === 1 ? 'runs.model' : 'runs.models')}`
}

function StopAll(props: {
  sessionId: string
  head: GraphHead
  isPast: boolean
  onAsk: (question: Question) => void
  page: Page
}) {
  const { head, isPast, onAsk, page, sessionId } = props
  const { say } = page.words
  const why = isPast ? 'act.why.replay' : head.pending === 0 ? 'act.why.nothing' : undefined
  return (
    <button
      type="button"
      className="dg-button dg-button-danger"
      disabled={why !== undefined}
      title={why === undefined ? undefined : say(why)}
      onClick={() => onAsk(stopAllQuestion(page, sessionId, head))}
      data-testid="dg-stop-all"
    >
      {say('act.stopAll')}
    </button>
  )
}

export function stopAllQuestion({ words, desk }: Page, sessionId: string, head: GraphHead): Question {
  const { say } = words
  const click = freshClick()
  return {
    title: say('ask.stopAll', { pending: head.pending }),
    text: say('ask.stopAllText'),
    verb: say('act.stopAll'),
    act: () => desk('stop', { sessionId, graphId: head.graphId, click }),
  }
}
