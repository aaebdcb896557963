/**
 * The browser half of dsh-graph-host: the Graph tab beside Chat. It needs only services that every
 * page of DSH has; what a page may lack is asked for in a context of its own, for an entry that
 * waits would keep the whole page from starting.
 */
import type { ClientContext, SessionId } from '@deepseek-ai/dsh-client-runtime/client'
import type { ConnectionHandle } from '@deepseek-ai/dsh-client-connection/client'
import type {} from '@deepseek-ai/dsh-client-ui-conversation/client'
import type { ReactNode } from 'react'
import type { FeedPath } from '../src/feed/wire.ts'
import { deskOf } from './desk.ts'
import { FeedClient, type Socket, type SocketListener } from './feed-client.ts'
import { GraphView } from './graph-view.tsx'
import { LocaleSource } from './locale-source.ts'
import { openChildSession } from './open-session.ts'
import { PageContext, type Page } from './page.ts'
import { addStyle } from './style.ts'
import { wordsFor, type Words } from './words.ts'

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
  ctx.effect(() => addStyle(), 'graph style')
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
}

interface TabProps {
  readonly sessionId: SessionId
  readonly parts: Omit<Page, 'words'>
  readonly useLocale: <T>(select: (locale: string) => T) => T
}

function GraphTab({ sessionId, parts, useLocale }: TabProps) {
  return (
    <InPage parts={parts} words={wordsFor(useLocale((locale) => locale))}>
      <GraphView key={sessionId} sessionId={sessionId} />
    </InPage>
  )
}

function InPage({ parts, words, children }: { parts: TabProps['parts']; words: Words; children: ReactNode }) {
  return <PageContext.Provider value={{ ...parts, words }}>{children}</PageContext.Provider>
}
