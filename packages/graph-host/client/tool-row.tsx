/** A call of one of the three tools in the chat: what it did in a line, what the model read behind it. */
import type { ToolCallBlock } from '@deepseek-ai/dsh-client-runtime/client'
import { usePage } from './page.ts'
import { readMeta, type ResultMeta } from '../src/feed/result-meta.ts'
import { MarkIcon } from './status-mark.tsx'
import type { Mark } from './status.ts'
import type { Words } from './words.ts'

export type GraphTool = 'update' | 'view' | 'yield'

interface Asked {
  readonly stop: number
  readonly retry: number
  readonly finish: number | undefined
}

export function ToolRow({ tool, block }: { tool: GraphTool; block: ToolCallBlock }) {
  const { words } = usePage()
  const { say } = words
  if (!('kind' in block)) {
    const doing = { update: 'tool.updating', view: 'tool.viewing', yield: 'tool.yielding' } as const
    return <Line mark="running" title={say(doing[tool])} facts={[]} state="running" tool={tool} />
  }
  const text = block.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const meta = readMeta(block.meta)
  const title = say(`tool.${tool}`)
  if (block.isError)
    return (
      <Line
        mark="failed"
        title={title}
        facts={[say('tool.refused')]}
        text={text}
        state="refused"
        tool={tool}
      />
    )
  const facts = factsOf(words, meta, readAsked(block.call?.argsRaw))
  return <Line mark="completed" title={title} facts={facts} text={text} state="settled" tool={tool} />
}

function Line(props: {
  mark: Mark
  title: string
  facts: readonly string[]
  text?: string
  state: string
  tool: GraphTool
}) {
  const { mark, title, facts, text, state, tool } = props
  const { say } = usePage().words
  const line = (
    <>
      <MarkIcon mark={mark} /> <strong>{title}</strong> <span className="dg-faint">{facts.join(' · ')}</span>
    </>
  )
  return (
    <div className="dg dg-tool" data-testid={`dg-tool-${tool}`} data-state={state}>
      {text === undefined ? (
        <span>{line}</span>
      ) : (
        <details>
          <summary>{line}</summary>
          <pre className="dg-text" tabIndex={0} aria-label={say('tool.text')}>
            {text}
          </pre>
        </details>
      )}
    </div>
  )
}

function factsOf({ say }: Words, meta: ResultMeta | undefined, asked: Asked): readonly string[] {
  if (meta === undefined) return []
  const { update, wait, works, ended } = meta
  const hasYielded = wait !== undefined && !wait.deliveredOnIdle
  return [
    ...(update === undefined || update.works === 0 ? [] : [say('tool.added', { count: update.works })]),
    ...(asked.stop === 0 ? [] : [say('tool.stopped', { count: asked.stop })]),
    ...(asked.retry === 0 ? [] : [say('tool.retried', { count: asked.retry })]),
    ...(asked.finish === undefined ? [] : [say('tool.finished', { count: asked.finish })]),
    ...(hasYielded ? [say('tool.yieldNow')] : []),
    ...(works === undefined ? [] : [say('head.progress', { done: ended ?? 0, total: works })]),
  ]
}

/** How much of what a call asked for; arguments are the model's words, and may be anything. */
function readAsked(argsRaw: string | undefined): Asked {
  try {
    const args = JSON.parse(argsRaw ?? '{}') as Readonly<Record<string, unknown>> | null
    const finish = args?.['finish'] as { resultIds?: unknown } | undefined
    return {
      stop: lengthOf(args?.['stop']),
      retry: lengthOf(args?.['retry']),
      finish: finish === undefined || finish === null ? undefined : lengthOf(finish.resultIds),
    }
  } catch {
    return { stop: 0, retry: 0, finish: undefined }
  }
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0
}
