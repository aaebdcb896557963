import { describe, expect, it } from 'vitest'
import { QueueNode, RunQueue } from '../src/run-queue.ts'

class Named extends QueueNode {
  readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }
}

function queueOf() {
  const queue = new RunQueue<Named>()
  const nodes = new Map<string, Named>()
  const node = (name: string): Named => {
    const known = nodes.get(name) ?? new Named(name)
    nodes.set(name, known)
    return known
  }
  return { queue, node, names: () => Array.from(queue, ({ name }) => name) }
}

describe('the queue of a session', () => {
  it('knows its head, its end and its size, whatever leaves it', () => {
    const { queue, node, names } = queueOf()
    for (const name of ['a', 'b', 'c']) queue.append(node(name))
    queue.remove(node('c'))
    queue.append(node('d'))
    queue.remove(node('a'))
    expect([names(), queue.head?.name, queue.size]).toEqual([['b', 'd'], 'b', 2])
    queue.remove(node('b'))
    queue.remove(node('d'))
    expect([names(), queue.head, queue.size]).toEqual([[], undefined, 0])
    queue.append(node('a'))
    expect([names(), queue.size]).toEqual([['a'], 1])
  })

  it('has one that goes from the front to the end behind whatever is placed in front later', () => {
    const { queue, node, names } = queueOf()
    queue.appendInFront(node('f1'))
    queue.appendInFront(node('f2'))
    queue.remove(node('f1'))
    queue.append(node('f1'))
    queue.appendInFront(node('f3'))
    expect(names()).toEqual(['f2', 'f3', 'f1'])
  })

  it('counts its very head as part of the front', () => {
    const { queue, node, names } = queueOf()
    queue.append(node('a'))
    queue.prepend(node('h'))
    queue.appendInFront(node('f'))
    expect(names()).toEqual(['h', 'f', 'a'])
  })

  it('keeps the end of its front when another one becomes its very head', () => {
    const { queue, node, names } = queueOf()
    queue.appendInFront(node('f1'))
    queue.append(node('a'))
    queue.prepend(node('h'))
    queue.appendInFront(node('f2'))
    expect(names()).toEqual(['h', 'f1', 'f2', 'a'])
  })

  it('puts a newcomer into the part in which the one behind it stands, unless told otherwise', () => {
    const { queue, node, names } = queueOf()
    queue.appendInFront(node('f'))
    queue.append(node('a'))
    queue.insertBefore(node('x'), node('f'))
    queue.insertBefore(node('y'), node('a'))
    queue.insertBefore(node('z'), node('y'), true)
    expect(['x', 'y', 'z'].map((name) => node(name).inFront)).toEqual([true, false, true])
    queue.appendInFront(node('last'))
    expect(names()).toEqual(['x', 'f', 'z', 'last', 'y', 'a'])
  })
})
