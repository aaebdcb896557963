/** A question before something that cannot be taken back. */
import { useEffect, useRef, useState } from 'react'

export interface Question {
  readonly title: string
  readonly text: string
  readonly verb: string
  /** Rejects with the host's words when it is refused. */
  readonly act: () => Promise<unknown>
}

export interface AskDialogProps {
  readonly question: Question
  /** What the classes and test ids of its parts begin with. */
  readonly prefix: string
  readonly words: {
    /** On the button that leaves all as it is. */
    readonly no: string
    readonly refused: (reason: string) => string
  }
  readonly onDone: () => void
}

export function AskDialog({ question, prefix, words, onDone }: AskDialogProps) {
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
  const ask = `${prefix}-ask`
  const button = `${prefix}-button`
  return (
    <dialog
      className={`${prefix}-dialog`}
      ref={dialog}
      onClose={onDone}
      aria-labelledby={ask}
      data-testid={ask}
    >
      <h2 id={ask}>{question.title}</h2>
      <p>{question.text}</p>
      {refusal === undefined ? null : (
        <p className={`${prefix}-refusal`} role="alert">
          {words.refused(refusal)}
        </p>
      )}
      <div className={`${prefix}-row`}>
        <button type="button" className={button} onClick={onDone}>
          {words.no}
        </button>
        <button
          type="button"
          className={`${button} ${button}-strong`}
          onClick={act}
          disabled={isBusy}
          data-testid={`${ask}-yes`}
        >
          {question.verb}
        </button>
      </div>
    </dialog>
  )
}
