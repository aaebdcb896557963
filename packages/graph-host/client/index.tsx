/**
 * The browser half of dsh-graph-host: the Graph tab beside Chat. It needs only services that every
 * page of DSH has; what a page may lack is asked for in a context of its own, for an entry that
 * waits would keep the whole page from starting.
 */
import type { ClientContext, SessionId } from '@deepseek-ai/dsh-client-runtime/client'
import type { ToolCallViewProps } from '@deepseek-ai/dsh-client-ui-tool/client'
import type { ConnectionHandle } from '@deepseek-ai/dsh-client-connection/client'
import {
  addStyle,
  bindSettings,
  LocaleSource,
  SETTINGS_STYLE,
  type SettingsSource,
} from '@dsh-graph/page-parts'
import { useMemo, type ReactNode } from 'react'
import { GRAPHS_PROJECTION, type ProjectedGraphs } from '../src/feed/graph-names.ts'
import type { FeedPath } from '../src/feed/wire.ts'
import { ChatLine } from './chat-line.tsx'
import { graphNode, type GraphChatNode } from './chat-node.ts'
import { CodeRow } from './code-row.tsx'
import { ComposerHint } from './composer-hint.tsx'
import { followCodeGraphs } from './code-views.ts'
import { deskOf } from './desk.ts'
import { FeedClient, type Socket, type SocketListener } from './feed-client.ts'
import { GraphView } from './graph-view.tsx'
import { GRAPH_NAMESPACES, GraphSettings } from './graph-settings.tsx'
import { openChildSession } from './open-session.ts'
import { PageContext, type Page } from './page.ts'
import css from './style.css'
import { ToolRow, type GraphTool } from './tool-row.tsx'
import { wordsFor } from './words.ts'

export const inject = ['slots', 'connection', 'conversationEvents', 'sessions']

const SOCKET: FeedPath = '/dsh-graph-host/feed'

function openSocket(ticket: string, listener: SocketListener): Socket {
  const { protocol, host } = window.location
  const socket = new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}${SOCKET}?ticket=${ticket}`)
  socket.addEventListener('open', () => listener.opened())
  socket.addEventListener('message', ({ data }) => listener.heard(String(data)))
  socket.addEventListener('close', () => listener.closed())
  return socket
}

export function apply(ctx: ClientContext): void {
  ctx.effect(() => addStyle('dsh-graph-host', css + SETTINGS_STYLE), 'graph style')
  // DSH's types tell of the host's service of that name only.
  const { connection } = ctx as unknown as { connection: ConnectionHandle }
  const desk = deskOf((channel, endpoint, payload) => connection.rpc.call(channel, endpoint, payload))
  const feed = new FeedClient({ ticket: async () => (await desk('ticket', {})).ticket, open: openSocket })
  ctx.effect(() => () => feed.close(), 'graph feed')
  const locale = new LocaleSource(ctx)
  const parts = {
    feed,
    desk,
    openSession: (root: string, child: string) => openChildSession(ctx, root, child),
  }
  const face = () => ({ parts, hooks: { locale } })
  ctx.slots.inject('conversation.view', () =>
    ctx.slots.register(
      {
        name: 'conversation.view',
        id: 'dsh-graph',
        order: 40,
        label: () => wordsFor(locale.getSnapshot()).say('tab'),
        inject: face,
      },
      GraphTab,
    ),
  )
  ctx.slots.inject('conversation.composer.dock', () =>
    ctx.slots.register(
      { name: 'conversation.composer.dock', id: 'dsh-graph-hint', order: 60, inject: face },
      GraphHint,
    ),
  )
  bindSettings(ctx, { namespaces: GRAPH_NAMESPACES, face: { hooks: { locale } }, card: GraphSettingsCard })
  ctx.conversationEvents.register(graphNode)
  ctx.slots.inject('conversation.chat.node', () =>
    ctx.slots.register({ name: 'conversation.chat.node', key: 'dsh-graph', inject: face }, GraphNode),
  )
  for (const tool of ['update', 'view', 'yield'] as const)
    ctx.slots.inject('tool.call.toolview', () =>
      ctx.slots.register(
        { name: 'tool.call.toolview', key: `${tool}_agent_graph`, inject: () => ({ ...face(), tool }) },
        GraphToolRow,
      ),
    )
  followCodeGraphs({
    ctx,
    desk,
    feed,
    register: (tool) =>
      ctx.slots.inject('tool.call.toolview', () =>
        ctx.slots.register(
          { name: 'tool.call.toolview', key: tool, inject: () => ({ ...face(), tool }) },
          CodeGraphRow,
        ),
      ),
  })
}

interface TabProps {
  readonly sessionId: SessionId
  /** DSH's: what the host keeps of the session's log under a name. */
  readonly useProjection: (key: string) => unknown
}

interface Face {
  readonly parts: Omit<Page, 'words'>
  readonly useLocale: <T>(select: (locale: string) => T) => T
}

function GraphSettingsCard({
  sources,
  useLocale,
}: Pick<Face, 'useLocale'> & { sources: readonly [SettingsSource, SettingsSource] }) {
  const locale = useLocale((now) => now)
  return <GraphSettings sources={sources} locale={locale} words={wordsFor(locale)} />
}

function GraphTab({ sessionId, useProjection, ...face }: Face & TabProps) {
  const kept = useProjection(GRAPHS_PROJECTION) as ProjectedGraphs | undefined
  return (
    <InPage {...face}>
      <GraphView key={sessionId} sessionId={sessionId} kept={kept?.graphs.at(-1)} />
    </InPage>
  )
}

function GraphHint({ sessionId, ...face }: Face & { sessionId: SessionId }) {
  return (
    <InPage {...face}>
      <ComposerHint key={sessionId} sessionId={sessionId} />
    </InPage>
  )
}

function GraphNode({ sessionId, node, ...face }: Face & { sessionId: SessionId; node: GraphChatNode }) {
  return (
    <InPage {...face}>
      <ChatLine sessionId={sessionId} graph={node.data} />
    </InPage>
  )
}

function GraphToolRow({
  tool,
  block,
  ...face
}: Face & { tool: GraphTool } & Pick<ToolCallViewProps, 'block'>) {
  return (
    <InPage {...face}>
      <ToolRow tool={tool} block={block} />
    </InPage>
  )
}

function CodeGraphRow({ tool, sessionId, callId, block, ...face }: Face & CodeGraphRowProps) {
  return (
    <InPage {...face}>
      <CodeRow {...{ sessionId, tool, callId, block }} />
    </InPage>
  )
}

type CodeGraphRowProps = { tool: string; sessionId: SessionId } & Pick<ToolCallViewProps, 'block' | 'callId'>

function InPage({ parts, useLocale, children }: Face & { children: ReactNode }) {
  const words = wordsFor(useLocale((locale) => locale))
  const page = useMemo(() => ({ ...parts, words }), [parts, words])
  return <PageContext.Provider value={page}>{children}</PageContext.Provider>
}
