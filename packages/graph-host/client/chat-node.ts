/**
 * One line for each graph in the chat, folded from the results of `update_agent_graph`: it stands where
 * the graph was opened, and keeps how it stood last. Nothing of ours is in the session log but the
 * results' own metadata, so a DSH without this package reads the session as before.
 */
import type { ConversationNodeDefinition } from '@deepseek-ai/dsh-client-runtime/client'
import type { ChatNode } from '@deepseek-ai/dsh-client-ui-conversation/client'
import { readMeta, type ResultMeta } from '../src/feed/result-meta.ts'

export interface ChatGraph {
  readonly graphId: string
  readonly phase: 'draft' | 'open' | 'closed'
  readonly works: number
  readonly ended: number
}

declare module '@deepseek-ai/dsh-client-ui-conversation/client' {
  interface ChatNodeDataMap {
    'dsh-graph': ChatGraph
  }
}

export type GraphChatNode = ChatNode<'dsh-graph'>

type Event = Parameters<ConversationNodeDefinition['match']>[0]

function metaOf(event: Event): ResultMeta | undefined {
  return event.type === 'tool/result' ? readMeta((event.data as { meta?: unknown }).meta) : undefined
}

function standing(before: ChatGraph | undefined, event: Event): ChatGraph {
  const meta = metaOf(event)
  return {
    graphId: meta?.graphId ?? before?.graphId ?? '',
    phase: meta?.phase ?? before?.phase ?? 'open',
    works: meta?.works ?? before?.works ?? 0,
    ended: meta?.ended ?? before?.ended ?? 0,
  }
}

export const graphNode: ConversationNodeDefinition<ChatGraph> = {
  kind: 'dsh-graph',
  target: 'chat',
  match(event) {
    const meta = metaOf(event)
    if (meta?.graphId === undefined) return null
    // The first revision opens the graph; what is answered a second time opens nothing.
    const opens = meta.update?.revision === 1 && meta.update.created
    return { id: meta.graphId, role: opens ? 'start' : 'update' }
  },
  start: (_context, { event }) => standing(undefined, event),
  update: (context, { event }) => standing(context.state, event),
  buildViewNode({ key, id, start, state }) {
    if (start === undefined || state === undefined) return null
    return {
      key,
      id,
      kind: 'dsh-graph',
      target: 'chat',
      // Behind the row of its call, which has the whole number.
      anchorSeq: start.event.seq + 0.5,
      location: start.location,
      visibility: 'visible',
      data: state,
    } satisfies GraphChatNode
  },
}
