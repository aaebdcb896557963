/** A call of a code graph in the chat: its picture with what runs lit, how far it is, its result as a tree. */
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { ToolCallBlock } from '@deepseek-ai/dsh-client-runtime/client'
import { JsonTree } from '@deepseek-ai/dsh-client-ui-primitives'
import type { CodeGraphCard } from '../src/feed/wire.ts'
import { DRAWN_NODES, layOutCode, NODE_HEIGHT } from './code-layout.ts'
import type { CodeRun } from './code-run.ts'
import { useNow, usePage } from './page.ts'
import { MarkIcon, MarkShape } from './status-mark.tsx'
import type { Mark } from './status.ts'

export function CodeRow(props: { sessionId: string; tool: string; callId: string; block: ToolCallBlock }) {
  const { sessionId, tool, callId, block } = props
  const { feed, words } = usePage()
  const { say, duration } = words
  const runs = feed.runsOf(sessionId)
  const run = useSyncExternalStore(runs.subscribe, runs.getSnapshot).get(callId)
  const card = useCodeGraph(tool)
  const isSettled = 'kind' in block
  const now = useNow(!isSettled)
  const began = isSettled ? block.callTime : block.time
  const took = began === null ? undefined : duration((isSettled ? block.time : now) - began)
  const mark: Mark = isSettled ? (block.isError ? 'failed' : 'completed') : waits(run) ? 'held' : 'running'
  const facts = [progressText(words, run, card, isSettled), took].filter(
    (fact) => fact !== undefined && fact !== '',
  )
  return (
    <div className="dg dg-tool" data-testid="dg-code" data-state={isSettled ? 'settled' : 'running'}>
      <span>
        <MarkIcon mark={mark} /> <strong>{tool}</strong> <span className="dg-faint">{facts.join(' · ')}</span>
      </span>
      <details open={!isSettled}>
        <summary>{say('code.picture')}</summary>
        {card === undefined ? null : <CodePicture card={card} run={run} isSettled={isSettled} />}
      </details>
      {isSettled ? <CodeResult text={textOf(block)} isError={block.isError} /> : null}
    </div>
  )
}

function waits(run: CodeRun | undefined): boolean {
  return [...(run?.nodes.values() ?? [])].some(({ mark }) => mark === 'held')
}

/** Never bare: which node runs, or which it waits in. */
function progressText(
  { say }: ReturnType<typeof usePage>['words'],
  run: CodeRun | undefined,
  card: CodeGraphCard | undefined,
  isSettled: boolean,
): string | undefined {
  if (isSettled) return undefined
  if (run === undefined) return say('code.unseen')
  const nodes = [...(run?.nodes ?? [])]
  const running = nodes.filter(([, { mark }]) => mark === 'running').map(([name]) => name)
  const held = nodes.filter(([, { mark }]) => mark === 'held').map(([name]) => name)
  const done = nodes.filter(([, { mark }]) => mark === 'completed').length
  const total = card?.nodes.length ?? 0
  const progress = total === 0 ? undefined : say('code.progress', { done, total })
  const now =
    held.length > 0
      ? say('code.held', { nodes: held.join(', ') })
      : running.length > 0
        ? say('code.running', { nodes: running.join(', ') })
        : say('code.starts')
  return [now, progress].filter((part) => part !== undefined).join(' · ')
}

function useCodeGraph(name: string): CodeGraphCard | undefined {
  const { desk } = usePage()
  const [card, setCard] = useState<CodeGraphCard>()
  useEffect(() => {
    let isWanted = true
    desk('codeGraph', { name }).then(
      (value) => isWanted && setCard(value),
      // The row tells the rest without it.
      () => undefined,
    )
    return () => {
      isWanted = false
    }
  }, [desk, name])
  return card
}

function CodePicture(props: { card: CodeGraphCard; run: CodeRun | undefined; isSettled: boolean }) {
  const { card, run, isSettled } = props
  const { say } = usePage().words
  const layout = useMemo(
    () => (card.nodes.length === 0 || card.nodes.length > DRAWN_NODES ? undefined : layOutCode(card)),
    [card],
  )
  if (layout === undefined)
    return <p className="dg-faint">{card.note ?? card.nodes.map(({ name }) => name).join(' → ')}</p>
  const markOf = (name: string): Mark => run?.nodes.get(name)?.mark ?? (isSettled ? 'ready' : 'waiting')
  const label = say('code.label', {
    name: card.name,
    nodes: card.nodes.map(({ name }) => `${name} ${say(`status.${statusOf(markOf(name))}`)}`).join(', '),
  })
  return (
    <div className="dg-code-frame" tabIndex={0} role="group" aria-label={label}>
      <svg width={layout.width} height={layout.height} aria-hidden="true">
        {layout.lines.map(({ path, conditional, to }, at) => (
          <path
            key={at}
            d={path}
            className={`dg-line${conditional ? ' dg-line-maybe' : ''}${markOf(to) === 'running' ? ' dg-line-running' : ''}`}
          />
        ))}
        {layout.nodes.map(({ name, label: text, isEdge, x, y, width }) => (
          <g
            key={name}
            className={isEdge ? 'dg-node' : `dg-node dg-is-${markOf(name)}`}
            transform={`translate(${x} ${y})`}
            data-node={name}
            data-status={isEdge ? 'edge' : markOf(name)}
          >
            <rect className="dg-box" width={width} height={NODE_HEIGHT} rx={isEdge ? NODE_HEIGHT / 2 : 6} />
            {isEdge ? null : <MarkShape mark={markOf(name)} x={9} y={9} size={12} />}
            <text x={27} y={19}>
              {text}
            </text>
          </g>
        ))}
      </svg>
    </div>
  )
}

function statusOf(mark: Mark): 'waiting' | 'running' | 'completed' | 'failed' | 'held' | 'ready' {
  return mark === 'running' ||
    mark === 'completed' ||
    mark === 'failed' ||
    mark === 'held' ||
    mark === 'ready'
    ? mark
    : 'waiting'
}

function textOf(block: Extract<ToolCallBlock, { kind: 'tool-result' }>): string {
  return block.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function CodeResult({ text, isError }: { text: string; isError: boolean }) {
  const { say } = usePage().words
  const value = useMemo(() => (isError ? undefined : objectIn(text)), [text, isError])
  return (
    <details data-testid="dg-code-result" open={isError}>
      <summary>{say('code.result')}</summary>
      {value === undefined ? (
        <pre className="dg-text" tabIndex={0}>
          {text}
        </pre>
      ) : (
        <JsonTree data={value} label={say('code.result')} expandTopLevel />
      )}
    </details>
  )
}

function objectIn(text: string): object | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
