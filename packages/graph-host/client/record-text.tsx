/** One record of a work: its first words, and its whole text page by page. */
import { useState } from 'react'
import type { RecordCard } from '../src/feed/wire.ts'
import { usePage } from './page.ts'

interface Read {
  readonly text: string
  readonly next: number | undefined
  readonly left: number
}

export function RecordText(props: { record: RecordCard; sessionId: string; graphId: string }) {
  const { record, sessionId, graphId } = props
  const { desk, words } = usePage()
  const { say, clock } = words
  const [read, setRead] = useState<Read>()
  const [refusal, setRefusal] = useState<string>()
  const more = async (offset: number) => {
    try {
      const page = await desk('result', { sessionId, graphId, recordId: record.recordId, offset })
      const text = (offset === 0 ? '' : (read?.text ?? '')) + page.text
      setRead({ text, next: page.nextOffset, left: page.totalChars - text.length })
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error))
    }
  }
  const name =
    record.kind === 'artifact' ? say('panel.artifact', { name: record.name ?? '' }) : say('panel.conclusion')
  return (
    <li className="dg-record" data-testid="dg-record">
      <div className="dg-record-head">
        <span>{name}</span>
        <span className="dg-faint">
          {say('panel.bytes', { bytes: record.bytes })} · {clock(record.committedAt)}
        </span>
      </div>
      <pre className="dg-text" tabIndex={0}>
        {read?.text ?? record.summary}
      </pre>
      {read === undefined ? (
        <button type="button" className="dg-button" onClick={() => void more(0)} data-testid="dg-read">
          {say('panel.readAll')}
        </button>
      ) : null}
      {read?.next === undefined ? null : (
        <button type="button" className="dg-button" onClick={() => void more(read.next ?? 0)}>
          {say('panel.more', { left: read.left })}
        </button>
      )}
      {refusal === undefined ? null : <p role="alert">{say('failed', { reason: refusal })}</p>}
    </li>
  )
}
