/** `/queue` and `/lanes`, in profiles that have commands. What they print is for the person only. */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { AgentLoopHost } from '../types.ts'
import { lanesText } from './lanes-text.ts'
import { QueueCommand, type CommandAnswer } from './queue-command.ts'

/** DSH's `ctx.commands`, as far as it is used here. */
interface Commands {
  register(command: {
    readonly name: string
    readonly description: string
    readonly input?: { readonly hint: string }
    readonly handler: (invocation: {
      readonly agent: Agent
      readonly rawInput: string
    }) => Promise<CommandAnswer>
  }): () => void
}

/** Registers the commands while `ctx.commands` is there. */
export function registerSlashCommands(ctx: Context, host: AgentLoopHost): void {
  const queue = new QueueCommand(host)
  ctx.inject(['commands'], (child: Context) => {
    const commands = child.get('commands') as unknown as Commands
    const all: Parameters<Commands['register']>[0][] = [
      {
        name: 'queue',
        description: 'How messages join this session while it is busy, and what waits',
        input: { hint: '[collect|steer|followup|steer-backlog|interrupt|cap:20|cancel <run>|clear|help]' },
        handler: ({ agent, rawInput }) => queue.answer(agent.id, rawInput),
      },
      {
        name: 'lanes',
        description: 'What runs and waits in the lanes of this process',
        handler: async () => ({ kind: 'success', text: lanesText(host.lanes(), host.metrics()) }),
      },
    ]
    for (const command of all) {
      try {
        commands.register(command)
      } catch (error) {
        // A name is taken by whoever came first; the queue itself does not need it.
        child.logger('agent-loop-host').warn('%s', `there is no /${command.name} command: ${String(error)}`)
      }
    }
  })
}
