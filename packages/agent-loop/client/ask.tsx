/** A question before something that cannot be taken back. */
import { useEffect, useRef, useState } from 'react'
import type { Words } from './words.ts'

export interface Question {
  readonly title: string
  readonly text: string
  readonly verb: string
  /** Rejects with the host's words when it is refused. */
  readonly act: () => Promise<unknown>
}

export function Ask({ question, words, onDone }: { question: Question; words: Words; onDone: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  useEffect(() => dialog.current?.showModal(), [])
  const act = () => {
    setBusy(true)
    question.act().then(onDone, (error: unknown) => {
      setBusy(false)
      setRefusal(error instanceof Error ? error.message : String(error))
    })
  }
  return (
    <dialog className="dl-dialog" ref={dialog} onClose={onDone} aria-labelledby="dl-ask" data-testid="dl-ask">
      <h2 id="dl-ask">{question.title}</h2>
      <p>{question.text}</p>
      {refusal === undefined ? null : (
        <p className="dl-refusal" role="alert">
          {words.say('failed', { reason: refusal })}
        </p>
      )}
      <div className="dl-buttons">
        <button type="button" className="dl-button" onClick={onDone}>
          {words.say('ask.no')}
        </button>
        <button
          type="button"
          className="dl-button dl-danger"
          onClick={act}
          disabled={isBusy}
          data-testid="dl-ask-yes"
        >
          {question.verb}
        </button>
      </div>
    </dialog>
  )
}
