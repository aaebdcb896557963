/**
 * The two services of DSH's web profile that the feed uses, as far as it uses them. They are absent
 * from a headless profile, so nothing here is in a manifest.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

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
