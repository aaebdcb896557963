/** Faults of what a host does with runs from before its time, and with turns that were cut off. */
import type { Mutation } from './mutation.ts'

export const mutations: readonly Mutation[] = [
  {
    title: 'keeps its open runs out of the lanes',
    file: 'recovery.ts',
    search: 'if (open.length > 0 && quarantined === undefined)',
    replace: 'if (open.length > 0)',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'is asked for no session whose runs have all ended',
    file: 'recovery.ts',
    search: 'if (open.length > 0 && quarantined === undefined)',
    replace: 'if (quarantined === undefined)',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'a turn that still runs is observed further',
    file: 'recovery.ts',
    search: `if (this.openers.live(sessionId) !== undefined) this.lanes.release(sessionId)
    }
  }`,
    replace: `}
  }`,
    spec: 'recovery.spec.ts',
  },
  {
    title: 'no session is adopted by itself',
    file: 'recovery.ts',
    search: 'if (this.openers.live(sessionId) !== undefined) this.lanes',
    replace: 'this.lanes',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'no session is adopted by itself',
    file: 'recovery.ts',
    search: `for (const sessionId of this.lanes.held()) this.lanes.release(sessionId)
  }`,
    replace: '}',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'a run that was only accepted runs once its session is live',
    file: 'recovery.ts',
    search: 'if (this.lanes.held().includes(agent.id)) this.lanes.release(agent.id)',
    replace: '',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'keeps what a person has in it',
    file: 'recovery.ts',
    search: 'for (const { id } of nextStep) if (runMessageIdOf(id) !== undefined) agent',
    replace: 'for (const { id } of nextStep) agent',
    spec: 'held-sessions.spec.ts',
  },
  {
    title: 'keeps what a person has in it',
    file: 'recovery.ts',
    search: 'messageId !== undefined && fold.withOwnMessage(messageId) === undefined',
    replace: "fold.withOwnMessage(messageId ?? '') === undefined",
    spec: 'held-sessions.spec.ts',
  },
  {
    title: 'is woken and not sent twice',
    file: 'recovery.ts',
    search: 'messageId !== undefined && fold.withOwnMessage(messageId) === undefined',
    replace: 'messageId !== undefined',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'does not run when it wakes up',
    file: 'recovery.ts',
    search: 'messageId !== undefined && fold.withOwnMessage(messageId) === undefined',
    replace: 'false',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'is told of its undo',
    file: 'recovery.ts',
    search: 'return () => controller.abort()',
    replace: 'return () => undefined',
    spec: 'held-sessions.spec.ts',
  },
  {
    title: 'is told of the end of the host',
    file: 'recovery.ts',
    search: 'for (const controller of this.probes) controller.abort()',
    replace: '',
    spec: 'held-sessions.spec.ts',
  },
  {
    title: 'is asked for all of them, four at a time',
    file: 'recovery.ts',
    search: 'if (agent !== undefined) this.lanes.release(sessionId)',
    replace: 'this.lanes.release(sessionId)',
    spec: 'held-sessions.spec.ts',
  },
  {
    title: 'is asked for all of them, four at a time',
    file: 'recovery.ts',
    search: 'const PROBES = 4',
    replace: 'const PROBES = 5',
    spec: 'held-sessions.spec.ts',
  },
  {
    title: 'is told of its undo',
    file: 'recovery.ts',
    search: 'id !== undefined && !signal.aborted; id',
    replace: 'id !== undefined; id',
    spec: 'held-sessions.spec.ts',
  },
  {
    title: 'is told again as one after a crash',
    file: 'lanes.ts',
    search: `      if (run.leader !== undefined) continue
      inFront`,
    replace: '      inFront',
    spec: 'queue-modes.spec.ts',
  },
  {
    title: 'until something is accepted',
    file: 'lanes.ts',
    search: `    this.state.unblock(sessionId, Block.stopped, this.now)
`,
    replace: '',
    spec: 'global-lanes.spec.ts',
  },
  {
    title: 'a run whose turn was open ends as interrupted',
    file: 'runner.ts',
    search: 'if (this.run.attempt > 0 && !isFresh) {',
    replace: 'if (this.run.attempt > 1 && !isFresh) {',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'is given up after ten times',
    file: 'runner.ts',
    search: 'if (this.run.attempt >= MAX_HANDOVERS)',
    replace: 'if (this.run.attempt > MAX_HANDOVERS)',
    spec: 'poison.spec.ts',
  },
  {
    title: 'was claimed but never reached the conversation is sent again',
    file: 'runner.ts',
    search: `if (reason.kind === 'interrupted' && !delivered) return undefined
`,
    replace: '',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'is woken and not sent twice',
    file: 'runner.ts',
    search: `      this.ports.watcher.wakeWhenIdle(agent)
      return { kind`,
    replace: '      return { kind',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'a turn that still runs is observed further',
    file: 'runner.ts',
    search: "if (end === undefined && agent.status === 'running') {",
    replace: 'if (false) {',
    spec: 'recovery.spec.ts',
  },
  {
    title: 'ends interrupted when its last continuation is cut off as well',
    file: 'runner.ts',
    search: 'this.run.attempt < this.ports.attempts',
    replace: 'true',
    spec: 'poison.spec.ts',
  },
  {
    title: 'settles from the session when the turn of its continuation was over',
    file: 'runner.ts',
    search: 'number > 1; number -= 1',
    replace: 'number > 2; number -= 1',
    spec: 'poison.spec.ts',
  },
  {
    title: 'is never put off by more than a minute',
    file: 'lane-drive.ts',
    search: 'Math.min(LONGEST_RETRY_MS, this.ports.retryDelayMs * 2 ** failures)',
    replace: 'this.ports.retryDelayMs * 2 ** failures',
    spec: 'poison.spec.ts',
  },
]
