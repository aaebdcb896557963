/** Optional fields that are not meant and filled all the same: with null, "", [], {}, or a word for nothing. */
import { AGENT, refused, REVIEWER, understood, work, WRITER, type CorpusClass } from './case.ts'

const SOURCE = 'apache/maka #1578: providers fill unrelated optional fields of the update tool'

export const FILLED: readonly CorpusClass[] = [
  {
    name: 'null for a field that is not meant',
    source: SOURCE,
    cases: [
      understood(
        'graphId',
        { graphId: null, addWork: [work('x')] },
        { works: { x: { target: AGENT } }, adjusted: ['left out as empty: graphId'] },
      ),
      understood(
        'finish',
        { addWork: [work('x')], finish: null },
        { works: { x: {} }, adjusted: ['finish'] },
      ),
      understood(
        'stop and retry',
        { addWork: [work('x')], stop: null, retry: null },
        { works: { x: {} }, adjusted: ['stop, retry'] },
      ),
      understood(
        'operation',
        { operation: null, stop: [{ targetId: 'running', reason: 'r' }] },
        { works: { running: { status: 'stopped' } }, adjusted: ['operation'] },
      ),
      understood(
        'identities',
        {
          addWork: [work('x', { agentId: null, subagentId: 'reviewer', operatorId: null, graphName: null })],
        },
        {
          works: { x: { target: REVIEWER } },
          adjusted: ['addWork[0].agentId, addWork[0].operatorId, addWork[0].graphName'],
        },
      ),
      understood(
        'inputs',
        { addWork: [work('x', { inputIds: null })] },
        { works: { x: { inputIds: [] } }, adjusted: ['addWork[0].inputIds'] },
      ),
      understood(
        'an input among inputs',
        { addWork: [work('x', { inputIds: ['gather', null] })] },
        { works: { x: { inputIds: ['gather'] } }, adjusted: ['addWork[0].inputIds[1]'] },
      ),
      understood(
        'cascade',
        { stop: [{ targetId: 'running', reason: 'r', cascadeDownstream: null }] },
        { works: { running: { status: 'stopped' } }, adjusted: ['stop[0].cascadeDownstream'] },
      ),
      understood(
        'every field of a view',
        { graphId: null, mode: null, since: null, cursor: null, results: null },
        { value: { known: true, counts: { works: 4 } }, adjusted: ['graphId, mode, since, cursor, results'] },
        'view',
      ),
      understood(
        'every field of a yield',
        { graphId: null, reason: null, until: null },
        { value: { until: 'any' }, adjusted: ['graphId, reason, until'] },
        'yield',
      ),
      refused('a required instruction', { addWork: [{ workId: 'x', instruction: null }] }, [
        'missing required property "addWork[0].instruction"',
      ]),
      refused('a required reason', { stop: [{ targetId: 'running', reason: null }] }, [
        'missing required property "stop[0].reason"',
      ]),
    ],
  },
  {
    name: 'an empty text for a field that is not meant',
    source: SOURCE,
    cases: [
      understood(
        'idempotencyKey',
        { addWork: [work('x')], idempotencyKey: '' },
        { works: { x: {} }, adjusted: ['idempotencyKey'] },
      ),
      understood(
        'graphId of spaces',
        { graphId: '  ', addWork: [work('x')] },
        { works: { x: {} }, adjusted: ['graphId'] },
      ),
      understood('draft', { addWork: [work('x')], draft: '' }, { works: { x: {} }, adjusted: ['draft'] }),
      understood(
        'when, forEach, replaces',
        { addWork: [work('x', { when: '', forEach: '', replaces: '' })] },
        { works: { x: {} }, adjusted: ['addWork[0].when, addWork[0].forEach, addWork[0].replaces'] },
      ),
      understood(
        'model and effort',
        { addWork: [work('x', { model: '', effort: '' })] },
        { works: { x: {} }, adjusted: ['addWork[0].model, addWork[0].effort'] },
      ),
      understood(
        'workId',
        { addWork: [{ workId: '', instruction: 'do it' }] },
        { value: { update: { created: true } }, adjusted: ['addWork[0].workId'] },
      ),
      understood(
        'title',
        { addWork: [work('x', { title: '' })] },
        { works: { x: {} }, adjusted: ['addWork[0].title'] },
      ),
      understood(
        'targetKind',
        { addWork: [work('x', { targetKind: '', agentId: 'writer' })] },
        { works: { x: { target: WRITER } }, adjusted: ['addWork[0].targetKind'] },
      ),
      understood(
        'an input',
        { addWork: [work('x', { inputIds: ['', 'gather'] })] },
        { works: { x: { inputIds: ['gather'] } }, adjusted: ['addWork[0].inputIds[0]'] },
      ),
      understood(
        'a whole list',
        { addWork: [work('x')], stop: '' },
        { works: { x: {} }, adjusted: ['stop'] },
      ),
      understood(
        'cursor of a view',
        { cursor: '', graphId: '' },
        { value: { known: true }, adjusted: ['cursor, graphId'] },
        'view',
      ),
      refused('the reason of a finish', { finish: { resultIds: ['gather'], reason: '' } }, [
        'missing required property "finish.reason"',
      ]),
    ],
  },
  {
    name: 'an empty list for a field that is not meant',
    source: SOURCE,
    cases: [
      understood('stop', { addWork: [work('x')], stop: [] }, { works: { x: {} }, adjusted: ['stop'] }),
      understood(
        'addWork beside a stop',
        { addWork: [], stop: [{ targetId: 'running', reason: 'r' }] },
        { works: { running: { status: 'stopped' } }, adjusted: ['addWork'] },
      ),
      understood(
        'retry and stop',
        { addWork: [work('x')], stop: [], retry: [] },
        { works: { x: {} }, adjusted: ['stop, retry'] },
      ),
      understood(
        'inputs',
        { addWork: [work('x', { inputIds: [] })] },
        { works: { x: { inputIds: [] } }, adjusted: ['addWork[0].inputIds'] },
      ),
      understood(
        'selected results',
        { addWork: [work('x', { selectedResultInputs: [] })] },
        { works: { x: {} }, adjusted: ['addWork[0].selectedResultInputs'] },
      ),
      understood('finish', { addWork: [work('x')], finish: [] }, { works: { x: {} }, adjusted: ['finish'] }),
      understood(
        'results of a view',
        { results: [] },
        { value: { known: true }, adjusted: ['results'] },
        'view',
      ),
      understood(
        'results of blanks',
        { results: ['', null] },
        { value: { known: true }, adjusted: ['results'] },
        'view',
      ),
      understood(
        'lists of lists',
        { addWork: [work('x')], retry: [[]] },
        { works: { x: {} }, adjusted: ['retry'] },
      ),
      refused('every payload', { addWork: [], stop: [], retry: [] }, [
        'give at least one of addWork, stop, retry, finish',
      ]),
      refused('works alone', { operation: 'add_work', addWork: [] }, [
        'operation add_work needs its payload addWork',
      ]),
    ],
  },
  {
    name: 'an empty object for a field that is not meant',
    source: SOURCE,
    cases: [
      understood('finish', { addWork: [work('x')], finish: {} }, { works: { x: {} }, adjusted: ['finish'] }),
      understood(
        'a finish of empty fields',
        { addWork: [work('x')], finish: { resultIds: [], reason: '' } },
        { works: { x: {} }, adjusted: ['finish'] },
      ),
      understood(
        'a stop of empty fields',
        { addWork: [work('x')], stop: [{ targetId: '', reason: '', cascadeDownstream: false }] },
        { works: { x: {} }, adjusted: ['stop'] },
      ),
      understood(
        'a retry of empty fields',
        { addWork: [work('x')], retry: [{ workId: null, reason: null }] },
        { works: { x: {} }, adjusted: ['retry'] },
      ),
      understood(
        'a work of empty fields beside a stop',
        {
          addWork: [{ workId: '', instruction: '', inputIds: [] }],
          stop: [{ targetId: 'running', reason: 'r' }],
        },
        { works: { running: { status: 'stopped' } }, adjusted: ['addWork'] },
      ),
      understood(
        'a work among works',
        { addWork: [work('x'), {}] },
        { works: { x: {} }, adjusted: ['addWork[1]'] },
      ),
      understood(
        'a selected result of empty fields',
        { addWork: [work('x', { selectedResultInputs: [{ sourceGraphId: '', resultId: '' }] })] },
        { works: { x: {} }, adjusted: ['addWork[0].selectedResultInputs'] },
      ),
      understood(
        'args of an agent',
        { addWork: [work('x', { args: {} })] },
        { works: { x: { target: AGENT } }, adjusted: ['addWork[0].args'] },
      ),
      understood(
        'args of an agent, filled with empties',
        { addWork: [work('x', { args: { a: '', b: [] } })] },
        { works: { x: {} }, adjusted: ['addWork[0].args'] },
      ),
      refused('the whole call', {}, ['give at least one of addWork, stop, retry, finish']),
      refused('one work alone', { addWork: [{}] }, ['give at least one of']),
    ],
  },
  {
    name: 'a word or a number that stands for nothing',
    source: SOURCE,
    cases: [
      understood(
        'null as a word',
        { graphId: 'null', addWork: [work('x')] },
        { works: { x: {} }, adjusted: ['graphId'] },
      ),
      understood(
        'undefined as a word',
        { addWork: [work('x', { replaces: 'undefined' })] },
        { works: { x: {} }, adjusted: ['addWork[0].replaces'] },
      ),
      understood(
        'none as an operator',
        { addWork: [work('x', { agentId: 'writer', operatorId: 'none' })] },
        { works: { x: { target: WRITER } }, adjusted: ['addWork[0].operatorId'] },
      ),
      understood(
        'N/A as a preset',
        { addWork: [work('x', { agentId: 'writer', subagentId: 'N/A' })] },
        { works: { x: { target: WRITER } }, adjusted: ['addWork[0].subagentId'] },
      ),
      understood(
        'none as what is replaced',
        { addWork: [work('x', { replaces: 'none' })] },
        { works: { x: {} }, adjusted: ['addWork[0].replaces'] },
      ),
      understood(
        'none as a model',
        { addWork: [work('x', { model: 'none' })] },
        { works: { x: {} }, adjusted: ['addWork[0].model'] },
      ),
      understood(
        'a dash as a forEach',
        { addWork: [work('x', { forEach: '-' })] },
        { works: { x: {} }, adjusted: ['addWork[0].forEach'] },
      ),
      understood(
        'none as a key',
        { addWork: [work('x')], idempotencyKey: 'none' },
        { works: { x: {} }, adjusted: ['idempotencyKey'] },
      ),
      understood(
        '0 as a seq',
        { since: 0 },
        { value: { known: true, counts: { works: 4 } }, adjusted: ['since'] },
        'view',
      ),
      understood(
        '0 as a seq beside results',
        { since: 0, results: ['gather'] },
        { value: { results: [{ text: 'gathered' }] }, adjusted: ['since'] },
        'view',
      ),
      understood(
        'null as a word in a yield',
        { until: 'null' },
        { value: { until: 'any' }, adjusted: ['until'] },
        'yield',
      ),
      refused(
        'none as an effort, which may be one',
        { addWork: [work('x', { model: 'm1', effort: 'none' })] },
        ['unknown effort "none" of model m1; available: low, high'],
      ),
    ],
  },
]
