/**
 * Services that the feed uses where they are, as far as it uses them: two of DSH's web profile, and
 * the registry of code graphs. A profile may lack each, so nothing here is in a manifest.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { CodeGraphCard } from './wire.ts'

export interface WebServer {
  /** Throws for a path that is taken. @returns the undo. */
  registerUpgrade(route: {
    path: string
    handler: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  }): () => void
}

export type RpcAnswer =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly error: { readonly code: string; readonly message: string; readonly details: object }
    }

export interface Connection {
  readonly rpc: {
    /** Fenced by DSH: only hosts that the deployment trusts, and no other site's page. */
    handle(
      channel: string,
      handler: (endpoint: string, payload: unknown, signal: AbortSignal) => Promise<RpcAnswer>,
      options: { readonly authority: 'trusted-host' | 'loopback' },
    ): () => Promise<void>
  }
}

/** `ctx.graphTools` of dsh-graph-runtime. */
export interface CodeGraphs {
  list(): readonly { readonly name: string }[]
  describe(name: string): CodeGraphCard | undefined
}
