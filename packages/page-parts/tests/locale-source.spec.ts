import { describe, expect, it } from 'vitest'
import { LocaleSource, type PageContext } from '../src/locale-source.ts'

/** A page whose locale service is there from the start, or comes later, or never. */
class Page implements PageContext {
  active = 'en'
  undos: (() => void)[] = []
  private provided: ((inner: PageContext) => void) | undefined
  private told: (() => void) | undefined

  inject(_services: ['locale'], callback: (inner: PageContext) => void): void {
    this.provided = callback
  }

  get(): unknown {
    return {
      getSnapshot: () => ({ active: this.active }),
      subscribe: (listener: () => void) => {
        this.told = listener
        return () => (this.told = undefined)
      },
    }
  }

  effect(run: () => () => void): void {
    this.undos.push(run())
  }

  provide(): void {
    this.provided?.(this)
  }

  choose(active: string): void {
    this.active = active
    this.told?.()
  }
}

describe('the language of a page', () => {
  it("is the browser's until DSH tells, and DSH's from then on", () => {
    const page = new Page()
    const source = new LocaleSource(page)
    expect(source.getSnapshot()).toBe(navigator.language)
    page.active = 'zh-CN'
    page.provide()
    expect(source.getSnapshot()).toBe('zh-CN')
  })

  it('is told to its listeners when it becomes another, and only then', () => {
    const page = new Page()
    const source = new LocaleSource(page)
    page.provide()
    const heard: string[] = []
    const undo = source.subscribe(() => heard.push(source.getSnapshot()))
    page.choose('zh-CN')
    page.choose('zh-CN')
    page.choose('en')
    undo()
    page.choose('zh-CN')
    expect(heard).toEqual(['zh-CN', 'en'])
  })

  it('is not listened to when the page has gone', () => {
    const page = new Page()
    const source = new LocaleSource(page)
    page.provide()
    for (const undo of page.undos) undo()
    page.choose('zh-CN')
    expect(source.getSnapshot()).toBe('en')
  })
})
