import { describe, expect, it } from 'vitest'
import { asOneWriter, VersionedMap } from '../src/versioned-map.ts'
import { random } from './fixture.ts'

describe('VersionedMap', () => {
  it('keeps every version as it was while later ones are written', () => {
    const one = VersionedMap.empty<number>().set('a', 1)
    const two = one.set('a', 2).set('b', 3)
    const three = two.delete('a')
    expect([one, two, three].map((version) => [...version])).toEqual([
      [['a', 1]],
      [
        ['a', 2],
        ['b', 3],
      ],
      [['b', 3]],
    ])
    expect([one.size, two.size, three.size]).toEqual([1, 2, 1])
    expect([one.get('b'), three.has('a'), two.has('a')]).toEqual([undefined, false, true])
  })

  it('branches: two writes on one version do not see each other', () => {
    const base = VersionedMap.empty<string>().set('k', 'base')
    const left = base.set('k', 'left').set('l', 'x')
    const right = base.set('k', 'right')
    expect([base.get('k'), left.get('k'), right.get('k'), right.has('l')]).toEqual([
      'base',
      'left',
      'right',
      false,
    ])
  })

  it('is not disturbed in a walk by what is written meanwhile', () => {
    const base = VersionedMap.empty<number>().set('a', 1).set('b', 2)
    const seen: unknown[] = []
    let newest = base
    for (const [key, value] of base) {
      seen.push([key, value])
      newest = newest.set('b', 20).set('c', 3).delete('a')
    }
    expect(seen).toEqual([
      ['a', 1],
      ['b', 2],
    ])
    expect([...newest.keys()]).toEqual(['b', 'c'])
  })

  it('holds keys that are names of object members', () => {
    const map = VersionedMap.empty<string>().set('__proto__', 'p').set('constructor', 'c')
    expect([map.get('__proto__'), map.get('toString'), map.size]).toEqual(['p', undefined, 2])
  })

  it('equals ordinary maps over random histories, in every version', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const next = random(seed)
      const versions = [{ map: VersionedMap.empty<number>(), model: new Map<string, number>() }]
      for (let step = 0; step < 200; step++) {
        const from = next(5) === 0 ? next(versions.length) : versions.length - 1
        const { map, model } = versions[from] as (typeof versions)[number]
        const key = `k${next(30)}`
        const copy = new Map(model)
        if (next(3) === 0) {
          copy.delete(key)
          versions.push({ map: map.delete(key), model: copy })
        } else {
          copy.set(key, step)
          versions.push({ map: map.set(key, step), model: copy })
        }
      }
      for (const { map, model } of versions) {
        expect(new Map(map.entries()), `seed ${seed}`).toEqual(model)
        expect(map.size).toBe(model.size)
      }
    }
  })

  it('forgets deleted keys once they outnumber the living', () => {
    let map = VersionedMap.empty<true>()
    for (let n = 0; n < 100_000; n++) map = map.set(`k${n}`, true).delete(`k${n - 1}`)
    // A trunk full of marks would be walked whole: 10,000 walks over 100,000 marks take minutes.
    for (let n = 0; n < 10_000; n++) expect([...map.keys()]).toHaveLength(1)
  })
})

describe('one writer', () => {
  it('changes in place what it made itself, and leaves every version before it as it was', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const next = random(seed)
      const versions = [{ map: VersionedMap.empty<number>(), model: new Map<string, number>() }]
      for (let page = 0; page < 20; page++) {
        const from = next(4) === 0 ? next(versions.length) : versions.length - 1
        const { map, model } = versions[from] as (typeof versions)[number]
        const copy = new Map(model)
        const written = asOneWriter(() => {
          let newest = map
          for (let step = 0; step < 12; step++) {
            const key = `k${next(30)}`
            const isDeleting = next(3) === 0
            newest = isDeleting ? newest.delete(key) : newest.set(key, page * 100 + step)
            if (isDeleting) copy.delete(key)
            else copy.set(key, page * 100 + step)
            expect(newest.size).toBe(copy.size)
          }
          return newest
        })
        versions.push({ map: written, model: copy })
        for (const held of versions) expect([...held.map]).toEqual([...held.model])
        for (const held of versions) expect(held.map.get('k1')).toBe(held.model.get('k1'))
      }
    }
  })
})

describe('a map whose content is deferred', () => {
  it('is read once, when it is first asked for, and then like any other', () => {
    let reads = 0
    const map = VersionedMap.deferred<number>(() => {
      reads += 1
      return [['a', 1] as const, ['b', 2] as const]
    })
    expect(reads).toBe(0)
    const later = map.set('c', 3).delete('a')
    expect([[...map], [...later], map.size, later.size]).toEqual([
      [
        ['a', 1],
        ['b', 2],
      ],
      [
        ['b', 2],
        ['c', 3],
      ],
      2,
      2,
    ])
    expect([...later.keysFrom((key) => key < 'c')]).toEqual(['c'])
    expect(reads).toBe(1)
  })
})
