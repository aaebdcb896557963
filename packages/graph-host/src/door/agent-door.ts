/** The operations of the agent-loop host as those of the door: `dsh-agent` speaks to them. */
import type { AgentOperations } from 'dsh-agent-loop-host'
import type { DoorOperation, DoorOperations } from './door-server.ts'

/** The door is for whoever shows its token, so a call that changes something needs nothing more. */
export function agentDoor(operations: AgentOperations): DoorOperations {
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]): [string, DoorOperation] => [
      name,
      operation.kind === 'call'
        ? (args, signal) => operation.call(args, signal)
        : (args, signal) => operation.stream(args, signal),
    ]),
  )
}
