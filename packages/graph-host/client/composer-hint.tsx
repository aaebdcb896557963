/**
 * One line at the composer of a session that can supervise graphs, or that a person switched off: whether
 * it does, and the switch. Nothing where the host does not say, as in a child session.
 */
import { useState, useSyncExternalStore } from 'react'
import { usePage } from './page.ts'

export function ComposerHint({ sessionId }: { sessionId: string }) {
  const { desk, feed, words } = usePage()
  const { say } = words
  const source = feed.supervisionOf(sessionId)
  const supervised = useSyncExternalStore(source.subscribe, source.getSnapshot)
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  if (supervised === null) return null
  const turn = () => {
    setBusy(true)
    setRefusal(undefined)
    desk('supervise', { sessionId, supervised: !supervised })
      // What it is then, the connection tells.
      .catch((error: unknown) => setRefusal(error instanceof Error ? error.message : String(error)))
      .finally(() => setBusy(false))
  }
  return (
    <div className="dg dg-hint" data-testid="dg-hint" data-supervised={supervised}>
      <span>{say(supervised ? 'hint.on' : 'hint.off')}</span>
      <button type="button" className="dg-link" onClick={turn} disabled={isBusy} data-testid="dg-hint-switch">
        {say(supervised ? 'hint.turnOff' : 'hint.turnOn')}
      </button>
      {refusal === undefined ? null : (
        <span className="dg-refusal" role="alert">
          {say('failed', { reason: refusal })}
        </span>
      )}
    </div>
  )
}
