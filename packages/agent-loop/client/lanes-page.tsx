/** The tab "Lanes": what runs, what waits and what was dropped, in every session of this host. */
import { AskDialog, type Question } from '@dsh-graph/page-parts'
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { QueuedItem } from '../src/queue-types.ts'
import type { LaneMetrics, LaneSnapshot } from '../src/types.ts'
import type { LanesDoor } from './door.ts'
import { LanesSource } from './lanes-source.ts'
import { PAGE } from './surroundings.ts'
import type { Words } from './words.ts'

interface PageProps {
  readonly door: LanesDoor
  readonly sessionId: string
  readonly words: Words
}

export function LanesPage({ door, sessionId, words }: PageProps) {
  const source = useMemo(() => new LanesSource(door, PAGE, sessionId), [door, sessionId])
  const { at, news, problem, queues } = useSyncExternalStore(source.subscribe, source.getSnapshot)
  const [question, setQuestion] = useState<Question>()
  const { say } = words
  const sessions = news === undefined ? [] : sessionsOf(news.lanes, queues, sessionId)
  return (
    <section className="dl" aria-label={say('tab')} data-testid="dl-view">
      {problem === undefined ? null : (
        <p className="dl-offline" role="status" data-testid="dl-offline">
          {say('offline', { reason: problem })}
        </p>
      )}
      <h2>{say('lanes.title')}</h2>
      <p className="dl-faint">{say('lanes.text')}</p>
      {news === undefined ? (
        <p className="dl-faint">{say('loading')}</p>
      ) : (
        <>
          <LanesTable metrics={news.metrics} at={at} words={words} />
          <h2>{say('sessions.title')}</h2>
          {sessions.length === 0 ? <p className="dl-faint">{say('sessions.none')}</p> : null}
          <ul className="dl-sessions">
            {sessions.map((session) => (
              <SessionLane
                key={session.sessionId}
                session={session}
                queue={queues.get(session.sessionId) ?? []}
                isOwn={session.sessionId === sessionId}
                door={door}
                words={words}
                ask={setQuestion}
              />
            ))}
          </ul>
        </>
      )}
      {question === undefined ? null : (
        <AskDialog
          prefix="dl"
          question={question}
          words={{ no: say('ask.no'), refused: (reason) => say('failed', { reason }) }}
          onDone={() => setQuestion(undefined)}
        />
      )}
    </section>
  )
}

/** The open session first, then those of the host; one that only dropped something is told of, too. */
function sessionsOf(
  lanes: readonly LaneSnapshot[],
  queues: ReadonlyMap<string, readonly QueuedItem[]>,
  own: string,
): readonly LaneSnapshot[] {
  const known = lanes.toSorted(
    (one, other) => Number(other.sessionId === own) - Number(one.sessionId === own),
  )
  const isShown = known.some(({ sessionId }) => sessionId === own) || (queues.get(own)?.length ?? 0) === 0
  return isShown ? known : [{ sessionId: own, running: undefined, queued: [] }, ...known]
}

interface TableProps {
  readonly metrics: readonly LaneMetrics[]
  /** When that was so. */
  readonly at: number
  readonly words: Words
}

function LanesTable({ at, metrics, words }: TableProps) {
  const { duration, say } = words
  // What waits grows older also while nothing moves.
  const sinceMs = Math.max(0, useNow() - at)
  const wait = (ms: number, isKnown: boolean) => (isKnown ? duration(ms) : '–')
  return (
    <div className="dl-scroll" tabIndex={0} role="region" aria-label={say('lanes.title')}>
      <table className="dl-table" data-testid="dl-lanes">
        <thead>
          <tr>
            <th scope="col">{say('lane.name')}</th>
            <th scope="col">{say('lane.active')}</th>
            {(['depth', 'age', 'started', 'meanWait', 'longestWait', 'drops', 'forced'] as const).map(
              (of) => (
                <th key={of} scope="col" className="dl-number">
                  {say(`lane.${of}`)}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {metrics.map((lane) => (
            <tr key={lane.lane} data-lane={lane.lane}>
              <th scope="row">{lane.lane}</th>
              <td>
                <span className="dl-slots" aria-hidden="true">
                  <span
                    style={{ width: `${Math.min(100, (100 * lane.active) / Math.max(1, lane.width))}%` }}
                  />
                </span>{' '}
                {say('lane.activeOf', { active: lane.active, width: lane.width })}
              </td>
              <td className="dl-number">{lane.depth}</td>
              <td className="dl-number">{wait(lane.ageMs + sinceMs, lane.depth > 0)}</td>
              <td className="dl-number">{lane.started}</td>
              <td className="dl-number">{wait(lane.meanWaitMs, lane.started > 0)}</td>
              <td className="dl-number">{wait(lane.longestWaitMs, lane.started > 0)}</td>
              <td className="dl-number">{lane.drops}</td>
              <td className="dl-number">{lane.forcedReleases}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface SessionProps extends Omit<PageProps, 'sessionId'> {
  readonly session: LaneSnapshot
  readonly queue: readonly QueuedItem[]
  readonly isOwn: boolean
  readonly ask: (question: Question) => void
}

function SessionLane({ ask, door, isOwn, queue, session, words }: SessionProps) {
  const { say } = words
  const { observed, queued, running, sessionId } = session
  const abort = (runId: string): Question => ({
    title: say('abortLabel', { run: runId }),
    text: say('ask.abort'),
    verb: say('abort'),
    act: () => door.abort(runId),
  })
  return (
    <li className="dl-session" data-session={sessionId} data-testid="dl-session">
      <div className="dl-head">
        <strong>{isOwn ? say('session.own') : say('session.other', { id: sessionId })}</strong>
        <span className="dl-state" data-testid="dl-state">
          {running !== undefined
            ? say('session.runs', { run: running })
            : observed !== undefined
              ? say('session.observed', { turn: observed.turn })
              : say('session.idle')}
          {queued.length === 0 ? '' : ` · ${say('session.waits', { count: queued.length })}`}
        </span>
        {running === undefined ? null : (
          <button
            type="button"
            className="dl-button"
            aria-label={say('abortLabel', { run: running })}
            onClick={() => ask(abort(running))}
            data-testid="dl-abort"
          >
            {say('abort')}
          </button>
        )}
      </div>
      {queue.length === 0 ? null : (
        <ol className="dl-queue">
          {queue.map((item) => (
            <QueueRow key={item.runId} {...{ ask, door, item, words }} />
          ))}
        </ol>
      )}
    </li>
  )
}

type RowProps = Pick<SessionProps, 'ask' | 'door' | 'words'> & { readonly item: QueuedItem }

function QueueRow({ ask, door, item, words }: RowProps) {
  const { duration, say } = words
  const now = useNow()
  const { preview, reason, retryAt, runId, status } = item
  const cancel: Question = {
    title: say('cancelLabel', { preview }),
    text: say('ask.cancel'),
    verb: say('cancel'),
    act: async () => {
      if (!(await door.cancel(runId))) throw new Error(say('gone'))
    },
  }
  const state = say(`status.${status}`, { time: duration(Math.max(0, (retryAt ?? now) - now)) })
  return (
    <li className={`dl-item dl-${status}`} data-status={status} data-testid="dl-item">
      <span className="dl-preview">{preview}</span>
      <span className="dl-faint">
        {item.mode} · {state}
        {reason === undefined ? '' : `: ${say(`reason.${reason}`)}`}
        {status === 'queued'
          ? ` ${say('item.for', { time: duration(Math.max(0, now - item.acceptedAt)) })}`
          : ''}
      </span>
      {status === 'dropped' ? null : (
        <button
          type="button"
          className="dl-button"
          aria-label={say('cancelLabel', { preview })}
          onClick={() => ask(cancel)}
          data-testid="dl-cancel"
        >
          {say('cancel')}
        </button>
      )}
    </li>
  )
}

/** The time, once a second. */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return now
}
