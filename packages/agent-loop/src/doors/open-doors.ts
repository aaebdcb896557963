/** The doors of the host beside its service: the web server's, and the slash commands. */
import type { Context } from '@deepseek-ai/cordis'
import type { AgentLoopHost } from '../types.ts'
import { doorToken } from './door-token.ts'
import { agentOperations } from './operations.ts'
import { registerSlashCommands } from './slash-commands.ts'
import { openWebDoor } from './web-door.ts'

export function openDoors(ctx: Context, host: AgentLoopHost, settings: { readonly web: boolean }): void {
  registerSlashCommands(ctx, host)
  if (settings.web) openWebDoor(ctx, { operations: agentOperations(host), token: doorToken(ctx) })
}
