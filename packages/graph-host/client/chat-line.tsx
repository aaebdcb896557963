/** A graph in one line: how far it is, what it waits for longest, a stop for all of it. */
import { useState } from 'react'
import { AskDialog, type Question } from './ask-dialog.tsx'
import type { ChatGraph } from './chat-node.ts'
import { stopAllQuestion } from './graph-head.tsx'
import { endedIn, oldestWait, type GraphModel } from './graph-model.ts'
import { useModel, usePage } from './page.ts'
import { MarkIcon } from './status-mark.tsx'
import type { Mark } from './status.ts'
import { wavesOf } from './waves.ts'
import { statusText, waitText, type Words } from './words.ts'

export function ChatLine({ sessionId, graph }: { sessionId: string; graph: ChatGraph }) {
  const page = usePage()
  const { words } = page
  const { say } = words
  const model = useModel(page.feed.of(sessionId))
  const [question, setQuestion] = useState<Question>()
  // Only the newest graph of a session can be open; for an older one its last result tells.
  const head = model.head?.graphId === graph.graphId ? model.head : undefined
  const done = head === undefined ? graph.ended : endedIn(model)
  const total = head === undefined ? graph.works : model.works.size
  const isOpen = head !== undefined && head.phase !== 'closed'
  const mark = markOfGraph(model, isOpen)
  return (
    <div className="dg dg-line-row" data-testid="dg-chat-line" data-open={isOpen}>
      <MarkIcon mark={mark} />
      <strong>{head === undefined ? say('chat.line') : `${say('chat.line')} ${head.epoch}`}</strong>
      <span>{say('chat.done', { done, total })}</span>
      {total === 0 ? null : (
        <progress max={total} value={done} aria-label={say('head.progress', { done, total })} />
      )}
      <span className="dg-faint dg-line-now">{isOpen ? nowText(words, model) : say('chat.finished')}</span>
      {isOpen && head.pending > 0 ? (
        <button
          type="button"
          className="dg-button"
          onClick={() => setQuestion(stopAllQuestion(page, sessionId, head))}
          data-testid="dg-chat-stop"
        >
          {say('chat.stop')}
        </button>
      ) : null}
      {question === undefined ? null : (
        <AskDialog question={question} onDone={() => setQuestion(undefined)} />
      )}
    </div>
  )
}

function markOfGraph({ counts, held }: GraphModel, isOpen: boolean): Mark {
  if (!isOpen) return 'completed'
  if (held > 0) return 'held'
  if (counts.running > 0) return 'running'
  return counts.failed > 0 ? 'failed' : 'waiting'
}

/** The wave that is worked on, and the oldest wait in it. */
function nowText(words: Words, { works, counts }: GraphModel): string {
  const { say } = words
  const titleOf = (id: string) => works.get(id)?.title ?? id
  const waiting = oldestWait(works)
  const waits = waiting === undefined ? undefined : `${waiting.title}: ${waitText(words, waiting, titleOf)}`
  if (counts.running === 0) return waits ?? say('chat.idle')
  const running = [...works.values()].filter((work) => work.status === 'running')
  const waves = wavesOf(works)
  const wave = Math.min(...running.map((work) => (waves.get(work.id) ?? 0) + 1))
  const first = running[0]
  const now =
    first === undefined ? '' : `${say('chat.wave', { wave })}, ${counts.running} ${statusText(words, first)}`
  const atWork = say(counts.running === 1 ? 'runs.model' : 'runs.models')
  return `${now} · ${waits ?? atWork}`
}
