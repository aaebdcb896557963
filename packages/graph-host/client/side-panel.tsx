/** Everything about the selected work, and what a person can do to it. */
import { useEffect, useState } from 'react'
import type { GraphHead, WorkCard, WorkDetail } from '../src/feed/wire.ts'
import type { Question } from './ask-dialog.tsx'
import { freshClick } from './desk.ts'
import { useNow, usePage, type Page } from './page.ts'
import { RecordText } from './record-text.tsx'
import { MarkIcon } from './status-mark.tsx'
import { markOf } from './status.ts'
import { hindrance, VERBS, type Verb } from './work-acts.ts'
import { statusText, waitText, type Words } from './words.ts'

export interface PanelProps {
  readonly sessionId: string
  readonly head: GraphHead
  readonly work: WorkCard
  /** Works that take it as an input. */
  readonly dependents: readonly string[]
  /** Other works of its operator. */
  readonly siblings: readonly string[]
  readonly titleOf: (id: string) => string
  readonly isPast: boolean
  readonly onSelect: (workId: string | undefined) => void
  readonly onAsk: (question: Question) => void
}

export function SidePanel(props: PanelProps) {
  const { work, head, sessionId, titleOf, onSelect } = props
  const page = usePage()
  const { say } = page.words
  const detail = useDetail(page, sessionId, head.graphId, work)
  const waits = waitText(page.words, work, titleOf)
  return (
    <aside className="dg-panel" aria-label={say('panel.label')} data-testid="dg-panel">
      <div className="dg-panel-head">
        <h2>{work.title}</h2>
        <button
          type="button"
          className="dg-button"
          onClick={() => onSelect(undefined)}
          aria-label={say('panel.close')}
        >
          ×
        </button>
      </div>
      <p className="dg-state" data-testid="dg-panel-state">
        <MarkIcon mark={markOf(work)} /> <strong>{statusText(page.words, work)}</strong>
        {waits === undefined ? null : <span> · {waits}</span>}
      </p>
      {work.reason === undefined ? null : <p className="dg-reason">{work.reason}</p>}
      <SessionLink {...props} />
      <Acts {...props} />
      <h3>{say('panel.instruction')}</h3>
      <pre className="dg-text" tabIndex={0} data-testid="dg-instruction">
        {detail?.instruction ?? say('panel.loading')}
      </pre>
      <Links word={say('panel.inputs')} ids={work.inputIds} {...props} />
      <Links word={say('panel.dependents')} ids={props.dependents} {...props} />
      <Links word={say('panel.siblings')} ids={props.siblings} {...props} />
      <h3>{say('panel.records')}</h3>
      {(detail?.records.length ?? 0) === 0 ? <p className="dg-faint">{say('panel.noRecords')}</p> : null}
      <ul className="dg-records">
        {detail?.records.map((record) => (
          <RecordText key={record.recordId} record={record} sessionId={sessionId} graphId={head.graphId} />
        ))}
      </ul>
      <Facts work={work} detail={detail} titleOf={titleOf} />
    </aside>
  )
}

function useDetail(page: Page, sessionId: string, graphId: string, work: WorkCard): WorkDetail | undefined {
  const [detail, setDetail] = useState<{ readonly key: string; readonly value: WorkDetail }>()
  const { id, status, records, attempt } = work
  const { desk } = page
  useEffect(() => {
    let isWanted = true
    desk('work', { sessionId, graphId, workId: id }).then(
      (value) => isWanted && setDetail({ key: id, value }),
      // The live picture stays; the next change asks again.
      () => undefined,
    )
    return () => {
      isWanted = false
    }
  }, [desk, sessionId, graphId, id, status, records, attempt])
  return detail?.key === id ? detail.value : undefined
}

function SessionLink({ work, sessionId }: PanelProps) {
  const { openSession, words } = usePage()
  const [refusal, setRefusal] = useState<string>()
  const child = work.sessionId
  const open = () => {
    if (child === undefined) return
    openSession(sessionId, child).catch((error: unknown) =>
      setRefusal(error instanceof Error ? error.message : String(error)),
    )
  }
  return (
    <div className="dg-row">
      <button
        type="button"
        className="dg-button"
        onClick={open}
        disabled={child === undefined}
        title={child ?? words.say('panel.noSession')}
        data-testid="dg-open-session"
      >
        {words.say('panel.session')}
      </button>
      {refusal === undefined ? null : <span role="alert">{words.say('failed', { reason: refusal })}</span>}
    </div>
  )
}

function Acts({ work, head, isPast, sessionId, onAsk }: PanelProps) {
  const page = usePage()
  const { say } = page.words
  return (
    <div className="dg-row" data-testid="dg-acts">
      {VERBS.map((verb) => {
        const why = hindrance(verb, work, head, isPast)
        return (
          <button
            key={verb}
            type="button"
            className="dg-button"
            disabled={why !== undefined}
            title={why === undefined ? undefined : say(why)}
            aria-description={why === undefined ? undefined : say(why)}
            onClick={() => onAsk(questionOf(page, verb, work, { sessionId, graphId: head.graphId }))}
            data-testid={`dg-act-${verb}`}
          >
            {say(`act.${verb}`)}
          </button>
        )
      })}
    </div>
  )
}

function questionOf(
  { words, desk }: Page,
  verb: Verb,
  work: WorkCard,
  graph: { sessionId: string; graphId: string },
): Question {
  const { say } = words
  const { title, id: workId } = work
  const click = freshClick()
  const verbText = say(`act.${verb}`)
  const stop = { title: say('ask.stop', { title }), verb: verbText }
  switch (verb) {
    case 'stop':
      return { ...stop, text: say('ask.stopText'), act: () => desk('stop', { ...graph, workId, click }) }
    case 'stopDown':
      return {
        ...stop,
        text: say('ask.stopDownText'),
        act: () => desk('stop', { ...graph, workId, cascade: true, click }),
      }
    case 'retry':
      return {
        title: say('ask.retry', { title }),
        text: say('ask.retryText'),
        verb: verbText,
        act: () => desk('retry', { ...graph, workId, click }),
      }
    case 'confirm': {
      const { attempt = 1, waits } = work
      const reason = waits !== undefined && 'reason' in waits ? waits.reason : ''
      return {
        title: say('ask.confirm', { title }),
        text: say('ask.confirmText', { attempt, reason }),
        verb: verbText,
        act: () => desk('confirm', { ...graph, workId, attempt }),
      }
    }
  }
}

function Links(props: PanelProps & { word: string; ids: readonly string[] }) {
  const { word, ids, titleOf, onSelect } = props
  if (ids.length === 0) return null
  return (
    <>
      <h3>{word}</h3>
      <ul className="dg-links">
        {ids.map((id) => (
          <li key={id}>
            <button type="button" className="dg-link" onClick={() => onSelect(id)}>
              {titleOf(id)}
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

function Facts(props: { work: WorkCard; detail: WorkDetail | undefined; titleOf: (id: string) => string }) {
  const { work, detail, titleOf } = props
  const { words } = usePage()
  const now = useNow(work.status === 'running')
  const facts = factsOf(words, work, detail, now, titleOf)
  return (
    <>
      <h3>{words.say('panel.facts')}</h3>
      <dl className="dg-facts" data-testid="dg-facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  )
}

function factsOf(
  { say, clock, duration, count }: Words,
  work: WorkCard,
  detail: WorkDetail | undefined,
  now: number,
  titleOf: (id: string) => string,
): readonly (readonly [string, string])[] {
  const { startedAt, endedAt, inputTokens, outputTokens, items, replacedBy, attempt, retries } = work
  const facts: [string, string | undefined][] = [
    [say('panel.target'), work.target],
    [say('panel.attempt'), attempt === undefined ? undefined : String(attempt)],
    [say('panel.retries'), retries === undefined ? undefined : String(retries)],
    [say('panel.added'), clock(work.addedAt)],
    [say('panel.started'), startedAt === undefined ? undefined : clock(startedAt)],
    [say('panel.ended'), endedAt === undefined ? undefined : clock(endedAt)],
    [say('panel.took'), startedAt === undefined ? undefined : duration((endedAt ?? now) - startedAt)],
    [
      say('panel.tokens'),
      inputTokens === undefined
        ? undefined
        : say('head.tokens', { in: count(inputTokens), out: count(outputTokens ?? 0) }),
    ],
    [say('panel.items'), items === undefined ? undefined : `${items.total - items.pending}/${items.total}`],
    [
      say('panel.model'),
      detail?.model === undefined ? undefined : [detail.model, detail.effort].join(' ').trim(),
    ],
    [say('panel.replacedBy'), replacedBy === undefined ? undefined : titleOf(replacedBy)],
    [say('panel.id'), work.id],
  ]
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined)
}
