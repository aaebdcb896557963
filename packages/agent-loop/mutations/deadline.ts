/** Faults of the limits of a run, of the timers behind them, and of the release of a turn that does not end. */
import type { Mutation } from './mutation.ts'

export const mutations: readonly Mutation[] = [
  {
    title: 'pass once, the first of them',
    file: 'deadline.ts',
    search: 'if (idleTimeoutMs !== undefined) this.armIdle',
    replace: 'if (idleTimeoutMs === -1) this.armIdle',
    spec: 'limits.spec.ts',
  },
  {
    title: 'pass once, the first of them',
    file: 'deadline.ts',
    search: `    this.lastProgressAt = this.clock.now()
`,
    replace: '',
    spec: 'limits.spec.ts',
  },
  {
    title: 'pass once, the first of them',
    file: 'deadline.ts',
    search: `    this.disarmDeadline()
`,
    replace: '',
    spec: 'limits.spec.ts',
  },
  {
    title: 'are not put off by progress for ever',
    file: 'deadline.ts',
    search: `    this.disarmIdle()
`,
    replace: '',
    spec: 'limits.spec.ts',
  },
  {
    title: 'pass once, the first of them',
    file: 'deadline.ts',
    search: 'if (left > 0) this',
    replace: 'if (left >= 0) this',
    spec: 'limits.spec.ts',
  },
  {
    title: 'pass once, the first of them',
    file: 'deadline.ts',
    search: 'this.armIdle(idleTimeoutMs, left)',
    replace: 'this.armIdle(idleTimeoutMs, idleTimeoutMs)',
    spec: 'limits.spec.ts',
  },
  {
    title: 'pass once, the first of them',
    file: 'deadline.ts',
    search: `    this.close()
`,
    replace: '',
    spec: 'limits.spec.ts',
  },
  {
    title: 'is replaced when it is set again',
    file: 'run-timers.ts',
    search: `    this.clear(name)
    const`,
    replace: '    const',
    spec: 'run-timers.spec.ts',
  },
  {
    title: 'waits in steps for a moment further away',
    file: 'run-timers.ts',
    search: 'Math.min(delayMs, MAX_DELAY_MS)',
    replace: 'delayMs',
    spec: 'run-timers.spec.ts',
  },
  {
    title: 'waits in steps for a moment further away',
    file: 'run-timers.ts',
    search: `if (this.clock.now() < moment) this.at(name, moment, callback)
      else callback()`,
    replace: 'callback()',
    spec: 'run-timers.spec.ts',
  },
  {
    title: 'is replaced when it is set again, and gone once it has fired',
    file: 'run-timers.ts',
    search: `      this.armed.delete(name)
      //`,
    replace: '      //',
    spec: 'run-timers.spec.ts',
  },
  {
    title: 'for a moment that is past',
    file: 'run-timers.ts',
    search: 'Math.max(0, moment - this.clock.now())',
    replace: 'moment - this.clock.now()',
    spec: 'run-timers.spec.ts',
  },
  {
    title: 'does not fire once it is cleared',
    file: 'run-timers.ts',
    search: `    this.armed.get(name)?.()
`,
    replace: '',
    spec: 'run-timers.spec.ts',
  },
  {
    title: 'does not fire once it is cleared',
    file: 'run-timers.ts',
    search: `for (const disarm of this.armed.values()) disarm()
`,
    replace: '',
    spec: 'run-timers.spec.ts',
  },
  {
    title: 'does not fire once it is cleared',
    file: 'run-timers.ts',
    search: `    this.armed.clear()
`,
    replace: '',
    spec: 'run-timers.spec.ts',
  },
  {
    title: 'holds for its runs that name none',
    file: 'lane-book.ts',
    search: 'request?.timeoutMs ?? this.lanes.get(lane)?.timeoutMs ?? ',
    replace: 'request?.timeoutMs ?? ',
    spec: 'limits.spec.ts',
  },
  {
    title: 'goes before that of its lane',
    file: 'lane-book.ts',
    search: 'request?.timeoutMs ?? this.lanes.get(lane)?.timeoutMs ?? ',
    replace: 'this.lanes.get(lane)?.timeoutMs ?? request?.timeoutMs ?? ',
    spec: 'limits.spec.ts',
  },
  {
    title: 'leaves the answer as it is',
    file: 'runner.ts',
    search: "over.state === 'ok' ? over :",
    replace: 'over.state === undefined ? over :',
    spec: 'limits.spec.ts',
  },
  {
    title: 'leaves a run alone that ended in time',
    file: 'runner.ts',
    search: `    deadline.close()
`,
    replace: '',
    spec: 'deadline.spec.ts',
  },
  {
    title: 'takes the message back when it still waits',
    file: 'runner.ts',
    search: `      watch.withdraw()
`,
    replace: '',
    spec: 'deadline.spec.ts',
  },
  {
    title: 'covers the opening of the session',
    file: 'runner.ts',
    search: 'Promise.race([opening, this.control.ended])',
    replace: 'opening',
    spec: 'deadline.spec.ts',
  },
  {
    title: 'touches no other turn of the session',
    file: 'forced-release.ts',
    search: `if (this.openTurn(agent.id) !== turn) return
`,
    replace: '',
    spec: 'forced-release.spec.ts',
  },
  {
    title: 'is over with the turn although nobody said that it has closed',
    file: 'forced-release.ts',
    search: 'turn !== undefined && turn === this.openTurn(agentId)',
    replace: 'turn !== undefined',
    spec: 'forced-release.spec.ts',
  },
  {
    title: 'leaves no stream of the model open that its reader has left',
    file: 'forced-release.ts',
    search: 'if (!isDone) void',
    replace: 'if (isDone) void',
    spec: 'forced-release.spec.ts',
  },
]
