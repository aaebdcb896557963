/** Faults of lanes: who may run, in what order, what a lane keeps and what it forgets. */
import type { Mutation } from './mutation.ts'

export const mutations: readonly Mutation[] = [
  {
    title: 'keeps the place of a run that is added again',
    file: 'lane-state.ts',
    search: `if (this.places.has(item.id)) return
`,
    replace: '',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'takes the higher priority first',
    file: 'lane-state.ts',
    search: 'seat.counts[item.level] += 1',
    replace: 'seat.counts[1] += 1',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'keeps its lane as long as it runs in it',
    file: 'lane-state.ts',
    search: `    slots.waiting += 1
`,
    replace: '',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'loses a run by its id and no other',
    file: 'lane-state.ts',
    search: 'if (place === undefined || place.session.active === place) return false',
    replace: 'if (place === undefined) return false',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'of one target is forgotten when what waits for it is taken out',
    file: 'lane-state.ts',
    search: `    this.leaveQueue(place)
    this.forgetIdle(place.slots)
`,
    replace: `    this.leaveQueue(place)
`,
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'keep every promise of the lanes',
    file: 'lane-state.ts',
    search: `    this.forgetIdle(place.slots)
    this.reseat(place.session, now)
    return true`,
    replace: `    this.forgetIdle(place.slots)
    return true`,
    spec: 'lane-schedules.spec.ts',
  },
  {
    title: 'is reordered by id, and says when it cannot be',
    file: 'lane-state.ts',
    search: 'if (before === id) return true',
    replace: '',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'is reordered by id, and says when it cannot be',
    file: 'lane-state.ts',
    search: 'if (before !== undefined && other?.session !== place.session) return false',
    replace: 'if (before !== undefined && other === undefined) return false',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'waits for the lane of its new head once it is reordered',
    file: 'lane-state.ts',
    search: `    else queue.insertBefore(place, other)
    this.reseat(place.session, now)`,
    replace: '    else queue.insertBefore(place, other)',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'is not busy with being blocked',
    file: 'lane-state.ts',
    search: `    seat.blocks |= reason
    this.reseat(seat, now)`,
    replace: '    seat.blocks |= reason',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'is not busy with being blocked',
    file: 'lane-state.ts',
    search: 'return seat !== undefined && (seat.active !== undefined || seat.queue.size > 0)',
    replace: 'return seat !== undefined',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'hands out nothing while anything blocks it',
    file: 'lane-state.ts',
    search: 'seat.blocks &= ~reason',
    replace: 'seat.blocks = 0',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'hands out nothing while anything blocks it',
    file: 'lane-state.ts',
    search: `    seat.blocks &= ~reason
    this.reseat(seat, now)`,
    replace: '    seat.blocks &= ~reason',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'takes the turn back from a session that an engine gave it to too late',
    file: 'lane-state.ts',
    search: `      this.engine.finish(seat)
    }
  }`,
    replace: `    }
  }`,
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'is not ended by the end of a run of it that only waits',
    file: 'lane-state.ts',
    search: `if (place === undefined || place.session.active !== place) return
`,
    replace: `if (place === undefined) return
`,
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'keeps its lane as long as it runs in it',
    file: 'lane-state.ts',
    search: `    place.slots.active -= 1
`,
    replace: '',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'runs targets of their own side by side and forgets them',
    file: 'lane-state.ts',
    search: `    this.engine.finish(place.session)
    this.forgetIdle(place.slots)
`,
    replace: `    this.engine.finish(place.session)
`,
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'is free for a run only when nothing of it is here',
    file: 'lane-state.ts',
    search: 'return this.engine.hasRoom(lane) && !this.seats.has(sessionId)',
    replace: 'return !this.seats.has(sessionId)',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'is free for a run only when nothing of it is here',
    file: 'lane-state.ts',
    search: 'return this.engine.hasRoom(lane) && !this.seats.has(sessionId)',
    replace: 'return this.engine.hasRoom(lane)',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'is free for a run only when nothing of it is here',
    file: 'lane-state.ts',
    search: 'if (wish !== undefined) this.engine.unwant(seat)',
    replace: '',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'counts what it has seen',
    file: 'lane-state.ts',
    search: 'if (item.lane === lane && (oldest',
    replace: 'if ((oldest',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'counts what it has seen',
    file: 'lane-state.ts',
    search: 'since < oldest',
    replace: 'since > oldest',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'counts what it has seen',
    file: 'lane-state.ts',
    search: 'place.slots.countStart(now - place.since)',
    replace: 'place.slots.countStart(0)',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'counts what it has seen',
    file: 'lane-slots.ts',
    search: 'if (waitedMs > this.longestWaitMs) this',
    replace: 'this',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'counts what it has seen',
    file: 'lane-slots.ts',
    search: 'this.waitedMs += waitedMs',
    replace: 'this.waitedMs = waitedMs',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'lets a session rise by every priority that waits in it',
    file: 'lane-state.ts',
    search: `    place.session.counts[place.item.level] -= 1
`,
    replace: '',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'lets a session rise by every priority that waits in it',
    file: 'lane-seat.ts',
    search: 'this.counts[2] > 0 ? 2 : this.counts[1] > 0 ? 1 : 0',
    replace: 'this.counts[2] > 0 ? 2 : 0',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'takes the higher priority first',
    file: 'lane-seat.ts',
    search: 'this.counts[2] > 0 ? 2 : this.counts[1] > 0 ? 1 : 0',
    replace: 'this.queue.head?.item.level ?? 0',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'has what is placed in front before everything else',
    file: 'lane-state.ts',
    search: "if (placement.at === 'front') queue.appendInFront(place)",
    replace: "if (placement.at === 'front') queue.prepend(place)",
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'has what is placed in front before everything else',
    file: 'lane-state.ts',
    search: "else if (placement.at === 'head') queue.prepend(place)",
    replace: "else if (placement.at === 'head') queue.appendInFront(place)",
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'has at its end what was to go before something that does not wait in it',
    file: 'lane-state.ts',
    search: 'if (other?.session === place.session) queue.insertBefore',
    replace: 'if (other !== undefined) queue.insertBefore',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'has at its end what was to go before something that does not wait in it',
    file: 'lane-state.ts',
    search: `else queue.append(place)
    }
  }`,
    replace: `}
  }`,
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'costs nothing once nothing is in it',
    file: 'lane-state.ts',
    search: 'if (seat.isEmpty) this.seats.delete(seat.id)',
    replace: '',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'tells of everything that moves',
    file: 'lane-state.ts',
    search: `    this.onMoved()
`,
    replace: '',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'is refused when nobody declared it',
    file: 'lane-state.ts',
    search: 'if (!this.knows(name)) throw',
    replace: 'if (name === undefined) throw',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'keeps its lane as long as it runs in it',
    file: 'lane-state.ts',
    search: 'if (!slots.isPerTarget || !slots.isIdle) return',
    replace: 'if (!slots.isPerTarget) return',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'keeps its lane as long as it runs in it',
    file: 'lane-slots.ts',
    search: 'return this.active === 0 && this.waiting === 0',
    replace: 'return this.waiting === 0',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'keeps its lane as long as it runs in it',
    file: 'lane-slots.ts',
    search: 'return this.active === 0 && this.waiting === 0',
    replace: 'return this.active === 0',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'waits for quiet only with a head that collects',
    file: 'lane-seat.ts',
    search: 'head.item.collects ? this.blocks : this.blocks & ~Block.quiet',
    replace: 'this.blocks',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'waits for quiet only with a head that collects',
    file: 'lane-seat.ts',
    search: 'head.item.collects ? this.blocks : this.blocks & ~Block.quiet',
    replace: 'this.blocks & ~Block.quiet',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'runs one at a time, first in, first out',
    file: 'lane-seat.ts',
    search: 'if (this.active !== undefined || head === undefined) return undefined',
    replace: 'if (head === undefined) return undefined',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'lets a background run through after it has aged',
    file: 'engines/lane-ring.ts',
    search: 'level + Math.floor((now - node.readySince) / ageMs)',
    replace: 'level',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'waiting raises none above the highest priority',
    file: 'engines/lane-ring.ts',
    search: 'Math.min(TOP, level + Math.floor((now - node.readySince) / ageMs))',
    replace: 'level + Math.floor((now - node.readySince) / ageMs)',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'of the same level the one that waits longest',
    file: 'engines/lane-ring.ts',
    search: 'best.readySince <= node.readySince',
    replace: 'best.readySince >= node.readySince',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'those that came at the same time go by the priority they were given',
    file: 'engines/lane-ring.ts',
    search: 'best.readySince <= node.readySince',
    replace: 'best.readySince < node.readySince',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'those that came at the same time go by the priority they were given',
    file: 'engines/lane-ring.ts',
    search: '[2, 1, 0]',
    replace: '[0, 1, 2]',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'the highest priority goes first',
    file: 'engines/lane-ring.ts',
    search: 'if (aged < bestLevel) continue',
    replace: '',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'or "main" when its lane is gone',
    file: 'lane-book.ts',
    search: "return this.lanes.has(name) ? name : 'main'",
    replace: 'return name',
    spec: 'lane-book.spec.ts',
  },
  {
    title: 'counts waits, drops and forced releases',
    file: 'lane-book.ts',
    search: 'slots.waitedMs / slots.started',
    replace: 'slots.waitedMs',
    spec: 'lane-book.spec.ts',
  },
  {
    title: 'counts waits, drops and forced releases',
    file: 'lane-book.ts',
    search: 'this.drops.set(lane, (this.drops.get(lane) ?? 0) + 1)',
    replace: '',
    spec: 'lane-book.spec.ts',
  },
  {
    title: 'says when to ask again',
    file: 'lane-book.ts',
    search: 'Math.max(SHORTEST_RETRY_MS, mean * Math.min(rounds, 10))',
    replace: 'SHORTEST_RETRY_MS',
    spec: 'lane-book.spec.ts',
  },
  {
    title: 'says when to ask again',
    file: 'lane-book.ts',
    search: 'Math.min(rounds, 10)',
    replace: 'rounds',
    spec: 'lane-book.spec.ts',
  },
  {
    title: 'lets one run that took long move',
    file: 'lane-book.ts',
    search: 'mean + WEIGHT * (tookMs - mean)',
    replace: 'tookMs',
    spec: 'lane-book.spec.ts',
  },
  {
    title: 'carries as many runs as it is wide',
    file: 'engines/embedded-lanes.ts',
    search: 'return this.active < this.width',
    replace: 'return this.active <= this.width',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'waits once, and keeps the time since when',
    file: 'engines/embedded-lanes.ts',
    search: 'if (seat.ring === undefined) seat.readySince = now',
    replace: 'seat.readySince = now',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'keeps its place when that is the same',
    file: 'engines/embedded-lanes.ts',
    search: ' || seat.ring === ring) return',
    replace: ') return',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'waits once, and keeps the time since when',
    file: 'engines/embedded-lanes.ts',
    search: `    this.unwant(seat, lane)
`,
    replace: '',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'keeps the lane of one target that only it holds in memory',
    file: 'engines/embedded-lanes.ts',
    search: 'if (lane !== keep) this.forgetIdle(lane)',
    replace: 'this.forgetIdle(lane)',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'is forgotten when the last that waits for it does so no more',
    file: 'engines/embedded-lanes.ts',
    search: 'if (lane !== keep) this.forgetIdle(lane)',
    replace: '',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'is forgotten when the last turn in it is over',
    file: 'engines/embedded-lanes.ts',
    search: `    this.stirred.add(lane)
    this.forgetIdle(lane)`,
    replace: '    this.stirred.add(lane)',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'is forgotten when the last turn in it is over',
    file: 'engines/embedded-lanes.ts',
    search: `    this.stirred.delete(lane)
  }
}`,
    replace: `  }
}`,
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'starts nothing more once it is paused',
    file: 'engines/embedded-lanes.ts',
    search: `if (this.isPaused) return undefined
`,
    replace: '',
    spec: 'lane-state.spec.ts',
  },
  {
    title: 'is there for a newcomer only when it would be next at once',
    file: 'engines/embedded-lanes.ts',
    search: 'return !this.isPaused && (lane',
    replace: 'return (lane',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'is there for a newcomer only when it would be next at once',
    file: 'engines/embedded-lanes.ts',
    search: '(lane.hasRoom && lane.waiting === 0)',
    replace: 'lane.hasRoom',
    spec: 'engines/embedded-lanes.spec.ts',
  },
  {
    title: 'is there for a newcomer only when it would be next at once',
    file: 'engines/embedded-lanes.ts',
    search: '(lane.hasRoom && lane.waiting === 0)',
    replace: 'lane.waiting === 0',
    spec: 'engines/embedded-lanes.spec.ts',
  },
]
