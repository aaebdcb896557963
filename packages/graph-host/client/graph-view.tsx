/** The Graph tab: the picture or the list, the selected work beside it, the history below. */
import { useCallback, useMemo, useState } from 'react'
import type { ProjectedGraph } from '../src/feed/graph-names.ts'
import type { GraphHead } from '../src/feed/wire.ts'
import { AskDialog, type Question } from './ask-dialog.tsx'
import { GraphCanvas } from './graph-canvas.tsx'
import { GraphHeadLine } from './graph-head.tsx'
import { endedIn, firstTrouble, type GraphModel } from './graph-model.ts'
import { layOut } from './layout.ts'
import { useModel, usePage } from './page.ts'
import { GROUP_FROM, pictureOf } from './picture.ts'
import { worksAt } from './replay.ts'
import { SidePanel } from './side-panel.tsx'
import { TimelineStrip } from './timeline-strip.tsx'
import { useTimeline } from './use-timeline.ts'
import { WorksList } from './works-list.tsx'

export interface GraphViewProps {
  readonly sessionId: string
  /** How the session's newest graph stood when its model last looked. */
  readonly kept: ProjectedGraph | undefined
}

export function GraphView({ kept, sessionId }: GraphViewProps) {
  const { feed, words } = usePage()
  const newest = useModel(feed.of(sessionId))
  const [epoch, setEpoch] = useState<string>()
  const isNewest = epoch === undefined || epoch === newest.head?.graphId
  const model = useModel(feed.of(sessionId, isNewest ? undefined : epoch))
  const { say } = words
  if (model.phase === 'none')
    return (
      <div className="dg dg-empty" data-testid="dg-none">
        <strong>{say('none.title')}</strong>
        <p>{say('none.text')}</p>
      </div>
    )
  if (model.phase === 'refused')
    return (
      <div className="dg dg-empty" role="alert">
        {say('refused', { reason: model.refusal ?? '' })}
      </div>
    )
  const { head } = model
  if (head === undefined || (model.phase === 'loading' && model.works.size === 0))
    return (
      <div className="dg dg-empty" data-testid="dg-loading">
        <span>{say('none.loading')}</span>
        {kept === undefined || kept.works === 0 ? null : (
          <p>
            {say('none.kept', { done: kept.ended, total: kept.works, phase: say(`phase.${kept.phase}`) })}
          </p>
        )}
      </div>
    )
  // One graph, one set of choices: what was chosen in another one says nothing here.
  return <LiveGraph key={head.graphId} {...{ sessionId, model, head }} onEpoch={setEpoch} />
}

interface LiveProps {
  readonly sessionId: string
  readonly model: GraphModel
  readonly head: GraphHead
  readonly onEpoch: (graphId: string) => void
}

function LiveGraph({ sessionId, model, head, onEpoch }: LiveProps) {
  const { words } = usePage()
  const { say } = words
  const [chosen, setChosen] = useState<{ readonly id: string | undefined }>()
  const [shows, setShows] = useState<'picture' | 'list'>('picture')
  const [question, setQuestion] = useState<Question>()
  const [at, setAt] = useState<number>()
  const events = useTimeline(sessionId, head.graphId, head.seq)
  const isPast = at !== undefined
  const works = useMemo(
    () => (at === undefined ? model.works : worksAt(model.works, events, at)),
    [at, events, model.works],
  )
  const troubled = useMemo(() => firstTrouble(model.works)?.id, [model.works])
  const selected = chosen === undefined ? troubled : chosen.id
  const select = useCallback((id: string | undefined) => setChosen({ id }), [])
  const titles = useTitles(model)
  const drawn = usePicture(model, selected)
  const work = selected === undefined ? undefined : (works.get(selected) ?? model.works.get(selected))
  const dependents = useMemo(
    () => (selected === undefined ? [] : dependentsOf(model, selected)),
    [model, selected],
  )
  const siblings = useMemo(
    () => (selected === undefined ? [] : siblingsOf(model, selected)),
    [model, selected],
  )
  return (
    <div className="dg" data-testid="dg-view" data-seq={head.seq}>
      {model.connected ? null : (
        <p className="dg-offline" role="status" data-testid="dg-offline">
          {say('head.offline')}
        </p>
      )}
      <GraphHeadLine {...{ sessionId, model, head, isPast, onEpoch }} titleOf={titles} onAsk={setQuestion} />
      <div className="dg-row dg-switch" role="group" aria-label={say('tab')}>
        {(['picture', 'list'] as const).map((one) => (
          <button
            key={one}
            type="button"
            className="dg-button"
            aria-pressed={shows === one}
            onClick={() => setShows(one)}
            data-testid={`dg-show-${one}`}
          >
            {say(`graph.${one}`)}
          </button>
        ))}
        {model.works.size <= GROUP_FROM || shows === 'list' ? null : (
          <button type="button" className="dg-button" aria-pressed={drawn.isOpen} onClick={drawn.toggleAll}>
            {say(drawn.isOpen ? 'graph.group' : 'graph.ungroup')}
          </button>
        )}
        {isPast ? <strong className="dg-past">{say('timeline.past')}</strong> : null}
      </div>
      <div className={work === undefined ? 'dg-main' : 'dg-main dg-with-panel'}>
        {shows === 'picture' ? (
          <GraphCanvas
            picture={drawn.picture}
            layout={drawn.layout}
            works={works}
            titleOf={titles}
            selected={selected}
            label={say('graph.pictureLabel', { total: model.works.size, done: endedIn(model) })}
            onSelect={select}
            onToggle={drawn.toggle}
          />
        ) : (
          <WorksList
            works={works}
            counts={model.counts}
            titleOf={titles}
            selected={selected}
            onSelect={select}
          />
        )}
        {work === undefined ? null : (
          <SidePanel
            {...{ sessionId, head, work, dependents, siblings, isPast }}
            titleOf={titles}
            onSelect={select}
            onAsk={setQuestion}
          />
        )}
      </div>
      <TimelineStrip
        events={events}
        at={at}
        titleOf={titles}
        onAt={setAt}
        onSelect={select}
        selected={selected}
      />
      {question === undefined ? null : (
        <AskDialog question={question} onDone={() => setQuestion(undefined)} />
      )}
    </div>
  )
}

/** Stable while no work came or went, so that what is drawn with it stays. */
function useTitles({ works, shape }: GraphModel): (id: string) => string {
  return useMemo(() => {
    const titles = new Map([...works].map(([id, work]) => [id, work.title]))
    return (id) => titles.get(id) ?? id
    // Titles never change; which works there are does.
  }, [shape])
}

function usePicture(model: GraphModel, selected: string | undefined) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const [isOpen, setOpen] = useState(false)
  const candidate = useMemo(
    () => pictureOf(model.works, { opened, grouping: isOpen ? 'never' : 'auto', selected }),
    [model.works, opened, isOpen, selected],
  )
  // Status changes lead to an equal picture; it, and where its boxes are, stay the same objects.
  const picture = useMemo(() => candidate, [candidate.key])
  const layout = useMemo(() => layOut(picture), [picture])
  const toggle = useCallback((id: string) => {
    setOpened((before) => {
      const after = new Set(before)
      if (!after.delete(id)) after.add(id)
      return after
    })
  }, [])
  const toggleAll = useCallback(() => {
    setOpen((before) => !before)
    setOpened(new Set())
  }, [])
  return { picture, layout, toggle, toggleAll, isOpen }
}

function siblingsOf({ works }: GraphModel, workId: string): readonly string[] {
  const sessionId = works.get(workId)?.sessionId
  if (sessionId === undefined) return []
  return [...works.values()].flatMap((work) =>
    work.sessionId === sessionId && work.id !== workId ? [work.id] : [],
  )
}

function dependentsOf(model: GraphModel, workId: string): readonly string[] {
  return [...model.works.values()].filter((work) => work.inputIds.includes(workId)).map((work) => work.id)
}
