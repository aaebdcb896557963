/** Ids that name nothing, name something twice, or lead in a circle. */
import { refused, understood, work, type CorpusClass } from './case.ts'

export const IDS: readonly CorpusClass[] = [
  {
    name: 'an id that names nothing',
    source: 'models invent ids, or write them from memory',
    cases: [
      refused('an input', { addWork: [work('x', { inputIds: ['gathr'] })] }, [
        'addWork[0].inputIds: no work or record "gathr" (did you mean "gather"?',
      ]),
      refused(
        'an input of the same call, misspelled',
        { addWork: [work('first'), work('x', { inputIds: ['frist'] })] },
        ['no work or record "frist" (did you mean "first"?'],
      ),
      refused('a stop', { stop: [{ targetId: 'runing', reason: 'r' }] }, [
        'stop: no work or operator "runing" (did you mean "running"?',
      ]),
      refused('a stop in another spelling', { stop: [{ targetId: 'Running', reason: 'r' }] }, [
        'did you mean "running"?',
      ]),
      refused('a retry', { retry: [{ workId: 'brokn', reason: 'r' }] }, [
        'retry: no work "brokn" (did you mean "broken"?',
      ]),
      refused('what is replaced', { addWork: [work('x', { replaces: 'brocken' })] }, [
        'addWork[0].replaces: no work "brocken" (did you mean "broken"?',
      ]),
      refused('an operator', { addWork: [work('x', { operatorId: 'gatherr' })] }, [
        'addWork[0].operatorId: no operator or work "gatherr" (did you mean "gather"?',
      ]),
      refused('an operator that is not there yet', { addWork: [work('x', { operatorId: 'later' })] }, [
        'work "later" is waiting and has no operator yet',
      ]),
      refused(
        'a result of a finish',
        { stop: [{ targetId: 'graph', reason: 'r' }], finish: { resultIds: ['gathers'], reason: 'done' } },
        ['finish.resultIds: "gathers" names no work and no record', 'did you mean "gather"?'],
      ),
      refused(
        'a result of a finish that left nothing',
        { stop: [{ targetId: 'graph', reason: 'r' }], finish: { resultIds: ['broken'], reason: 'done' } },
        ['work "broken" is failed and left no record'],
      ),
      refused(
        'a result of a view',
        { results: ['gathe'] },
        ['results: "gathe" names no work and no record', 'did you mean "gather"?'],
        { tool: 'view' },
      ),
      refused(
        'a result that is not there yet',
        { results: ['running'] },
        ['work "running" is running and left no record'],
        { tool: 'view' },
      ),
      refused(
        'a graph',
        ({ current }) => ({ graphId: `${current.slice(0, -1)}x`, addWork: [work('x')] }),
        ['did you mean "agent_graph_', 'leave graphId out for the current one'],
        { code: 'unknown_graph' },
      ),
      refused(
        'a graph called current',
        { graphId: 'current', stop: [{ targetId: 'running', reason: 'r' }] },
        ['this session has no graph "current"', 'leave graphId out'],
        { code: 'unknown_graph' },
      ),
      refused('a graph to wait for', { graphId: 'mine' }, ['this session has no graph "mine"'], {
        code: 'unknown_graph',
        tool: 'yield',
      }),
      understood(
        'a graph to view, which is total',
        { graphId: 'mine' },
        { value: { known: false, graphId: 'mine' } },
        'view',
      ),
      refused(
        'a graph of a selected result',
        { addWork: [work('x', { selectedResultInputs: [{ sourceGraphId: 'last', resultId: 'old' }] })] },
        ['selectedResultInputs: this session has no graph "last"; it has agent_graph_'],
        { code: 'unknown_graph' },
      ),
      refused(
        'a selected result',
        ({ earlier }) => ({
          addWork: [work('x', { selectedResultInputs: [{ sourceGraphId: earlier, resultId: 'odd' }] })],
        }),
        ['"odd" is not among the results', 'finished with: old'],
      ),
      refused(
        'a selected result that the finish left out',
        ({ earlier }) => ({
          addWork: [work('x', { selectedResultInputs: [{ sourceGraphId: earlier, resultId: 'scrap' }] })],
        }),
        ['"scrap" is not among the results', 'finished with: old'],
      ),
      refused(
        'a selected result of the current graph',
        ({ current }) => ({
          addWork: [work('x', { selectedResultInputs: [{ sourceGraphId: current, resultId: 'gather' }] })],
        }),
        ['is not finished; name works of the current graph in inputIds'],
      ),
      refused('a cursor', { cursor: 'page-2' }, ['cursor "page-2" is not of graph', 'leave it out'], {
        tool: 'view',
      }),
      understood(
        'a work in place of a selected record',
        ({ earlier }) => ({
          addWork: [work('x', { selectedResultInputs: [{ sourceGraphId: earlier, resultId: 'old' }] })],
        }),
        { works: { x: { selectedResultInputs: [{}] } } },
      ),
    ],
  },
  {
    name: 'an id twice, an id that is taken, ids in a circle',
    source: 'hy-sde tool-graph: a repeated work id made a graph unreadable for good',
    cases: [
      refused('an input twice', { addWork: [work('x', { inputIds: ['gather', 'gather'] })] }, [
        'addWork[0].inputIds names gather twice',
      ]),
      refused('a work id twice', { addWork: [work('x'), work('x')] }, ['addWork names x twice']),
      refused(
        'a stop twice',
        {
          stop: [
            { targetId: 'running', reason: 'r' },
            { targetId: 'running', reason: 's' },
          ],
        },
        ['stop names running twice'],
      ),
      refused(
        'a retry twice',
        {
          retry: [
            { workId: 'broken', reason: 'r' },
            { workId: 'broken', reason: 's' },
          ],
        },
        ['retry names broken twice'],
      ),
      understood(
        'a result of a finish twice',
        {
          stop: [{ targetId: 'graph', reason: 'r' }],
          finish: { resultIds: ['gather', 'gather'], reason: 'done' },
        },
        { value: { graph: { closed: true } }, adjusted: ['finish.resultIds named some ids twice'] },
      ),
      understood(
        'a result of a view twice',
        { results: ['gather', 'gather'] },
        { value: { results: [{ text: 'gathered' }] }, adjusted: ['results named some ids twice'] },
        'view',
      ),
      refused('an id that is taken', { addWork: [work('gather')] }, ['work id gather is taken'], {
        code: 'work-conflict',
      }),
      refused('an id of an item', { addWork: [work('gather#1')] }, [
        'workId ends like the work of an item (#n): choose another id',
      ]),
      refused('an id of a record', { addWork: [work('graph_record_1')] }, ['already names something else'], {
        code: 'work-conflict',
      }),
      refused(
        'a circle of two',
        { addWork: [work('x', { inputIds: ['y'] }), work('y', { inputIds: ['x'] })] },
        ['wait for each other in a circle'],
        { code: 'work-conflict' },
      ),
      refused(
        'a circle of one',
        { addWork: [work('x', { inputIds: ['x'] })] },
        ['wait for each other in a circle'],
        { code: 'work-conflict' },
      ),
      refused(
        'two that replace one',
        { addWork: [work('x', { replaces: 'running' }), work('y', { replaces: 'running' })] },
        ['two works of the update replace running'],
        { code: 'work-conflict' },
      ),
      refused('one that replaces itself', { addWork: [work('x', { replaces: 'x' })] }, [
        'addWork[0].replaces: no work "x"',
      ]),
      refused(
        'a record as a current and a selected input',
        ({ earlier, record }) => ({
          addWork: [
            work('x', {
              inputIds: [record],
              selectedResultInputs: [{ sourceGraphId: earlier, resultId: record }],
            }),
          ],
        }),
        ['as a current and as a selected input'],
      ),
    ],
  },
]
