/** A question before something that cannot be taken back, in the words of this page. */
import { AskDialog as Dialog, type Question } from '@dsh-graph/page-parts'
import { usePage } from './page.ts'

export type { Question } from '@dsh-graph/page-parts'

export function AskDialog({ question, onDone }: { question: Question; onDone: () => void }) {
  const { say } = usePage().words
  const words = { no: say('ask.no'), refused: (reason: string) => say('failed', { reason }) }
  return <Dialog prefix="dg" question={question} words={words} onDone={onDone} />
}
