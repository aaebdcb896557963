/** A question before something that cannot be taken back. */
import { useEffect, useRef, useState } from 'react'
import { usePage } from './page.ts'

export interface Question {
  readonly title: string
  readonly text: string
  readonly verb: string
  /** Rejects with the host's words when it is refused. */
  readonly act: () => Promise<unknown>
}

export function AskDialog({ question, onDone }: { question: Question; onDone: () => void }) {
  const { say } = usePage().words
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
    <dialog className="dg-dialog" ref={dialog} onClose={onDone} aria-labelledby="dg-ask" data-testid="dg-ask">
      <h2 id="dg-ask">{question.title}</h2>
      <p>{question.text}</p>
      {refusal === undefined ? null : (
        <p className="dg-refusal" role="alert">
          {say('failed', { reason: refusal })}
        </p>
      )}
      <div className="dg-row">
        <button type="button" className="dg-button" onClick={onDone}>
          {say('ask.no')}
        </button>
        <button
          type="button"
          className="dg-button dg-button-strong"
          onClick={act}
          disabled={isBusy}
          data-testid="dg-ask-yes"
        >
          {question.verb}
        </button>
      </div>
    </dialog>
  )
}
