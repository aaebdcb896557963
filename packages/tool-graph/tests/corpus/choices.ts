/** Discriminators that do not go with what is filled, fields that exclude each other, names that are not offered. */
import { AGENT, refused, REVIEWER, understood, work, WRITER, type CorpusClass } from './case.ts'

const stopRunning = [{ targetId: 'running', reason: 'r' }]
const finish = { resultIds: ['gather'], reason: 'done' }

export const CHOICES: readonly CorpusClass[] = [
  {
    name: 'an operation beside the payloads of others',
    source: 'apache/maka PR #1586: the operation decides which payload counts',
    cases: [
      understood(
        'stop, with works',
        { operation: 'stop', stop: stopRunning, addWork: [work('x')] },
        {
          works: { running: { status: 'stopped' } },
          absent: ['x'],
          adjusted: ['addWork was dropped: operation is stop'],
        },
      ),
      understood(
        'add_work, with a finish',
        { operation: 'add_work', addWork: [work('x')], finish },
        {
          works: { x: {} },
          value: { graph: { closed: false } },
          adjusted: ['finish was dropped: operation is add_work'],
        },
      ),
      understood(
        'add_work, with stops',
        { operation: 'add_work', addWork: [work('x')], stop: stopRunning },
        {
          works: { x: {}, running: { status: 'running' } },
          adjusted: ['stop was dropped: operation is add_work'],
        },
      ),
      understood(
        'retry, with works',
        { operation: 'retry', retry: [{ workId: 'broken', reason: 'r' }], addWork: [work('x')] },
        {
          works: { broken: { retries: 1 } },
          absent: ['x'],
          adjusted: ['addWork was dropped: operation is retry'],
        },
      ),
      understood(
        'add_work, with all others',
        {
          operation: 'add_work',
          addWork: [work('x')],
          stop: stopRunning,
          retry: [{ workId: 'broken', reason: 'r' }],
          finish,
        },
        {
          works: { x: {}, broken: { status: 'failed' } },
          adjusted: ['stop was dropped', 'retry was dropped', 'finish was dropped'],
        },
      ),
      understood(
        'in another spelling',
        { operation: 'STOP', stop: stopRunning, addWork: [work('x')] },
        { absent: ['x'], adjusted: ['"STOP" was read as stop', 'addWork was dropped'] },
      ),
      refused('stop, without stops', { operation: 'stop', addWork: [work('x')] }, [
        'operation stop needs its payload stop',
      ]),
      refused('finish, without one', { operation: 'finish', stop: stopRunning }, [
        'operation finish needs its payload finish',
      ]),
      refused('retry, without any', { operation: 'retry', stop: stopRunning }, [
        'operation retry needs its payload retry',
      ]),
      refused('add_work, with stops alone', { operation: 'add_work', stop: stopRunning }, [
        'operation add_work needs its payload addWork',
      ]),
      refused('an operation alone', { operation: 'finish' }, ['operation finish needs its payload finish']),
    ],
  },
  {
    name: 'a kind of target beside the identities of others',
    source: 'hy-sde tool-graph and apache/maka #1578: targetKind keeps one identity',
    cases: [
      understood(
        'new_agent, all filled',
        {
          addWork: [
            work('x', {
              targetKind: 'new_agent',
              agentId: 'writer',
              subagentId: 'reviewer',
              operatorId: 'gather',
              graphName: 'digest',
            }),
          ],
        },
        {
          works: { x: { target: WRITER } },
          adjusted: [
            'addWork[0].subagentId was dropped: targetKind is new_agent',
            'operatorId was dropped',
            'graphName was dropped',
          ],
        },
      ),
      understood(
        'new_preset, all filled',
        {
          addWork: [
            work('x', {
              targetKind: 'new_preset',
              agentId: 'writer',
              subagentId: 'reviewer',
              operatorId: 'gather',
            }),
          ],
        },
        {
          works: { x: { target: REVIEWER } },
          adjusted: ['agentId was dropped: targetKind is new_preset', 'operatorId was dropped'],
        },
      ),
      understood(
        'existing_operator, all filled',
        {
          addWork: [work('x', { targetKind: 'existing_operator', agentId: 'default', operatorId: 'gather' })],
        },
        {
          works: { x: { target: { kind: 'operator' } } },
          adjusted: ['agentId was dropped: targetKind is existing_operator'],
        },
      ),
      understood(
        'code_graph, all filled',
        {
          addWork: [
            work('x', {
              targetKind: 'code_graph',
              agentId: 'default',
              graphName: 'digest',
              args: { of: 'gather' },
            }),
          ],
        },
        {
          works: { x: { target: { kind: 'graph', id: 'digest' }, args: { of: 'gather' } } },
          adjusted: ['agentId was dropped: targetKind is code_graph'],
        },
      ),
      understood(
        'new_agent, with args',
        { addWork: [work('x', { targetKind: 'new_agent', args: { of: 'gather' } })] },
        {
          works: { x: { target: AGENT } },
          adjusted: ['addWork[0].args was dropped: targetKind is new_agent'],
        },
      ),
      understood(
        'replacementMode none, with replaces',
        { addWork: [work('x', { replacementMode: 'none', replaces: 'running' })] },
        {
          works: { x: {}, running: { status: 'running' } },
          adjusted: ['replaces was dropped: replacementMode is none'],
        },
      ),
      refused(
        'new_agent, with a preset only',
        { addWork: [work('x', { targetKind: 'new_agent', subagentId: 'reviewer' })] },
        [
          'targetKind new_agent does not go with subagentId: set targetKind new_preset, or leave subagentId out',
        ],
      ),
      refused(
        'new_preset, with an agent only',
        { addWork: [work('x', { targetKind: 'new_preset', agentId: 'writer' })] },
        ['targetKind new_preset needs subagentId; for agentId set targetKind new_agent'],
      ),
      refused(
        'existing_operator, with nothing',
        { addWork: [work('x', { targetKind: 'existing_operator' })] },
        ['targetKind existing_operator needs operatorId'],
      ),
      refused(
        'code_graph, with an agent only',
        { addWork: [work('x', { targetKind: 'code_graph', agentId: 'writer' })] },
        ['targetKind code_graph needs graphName; for agentId set targetKind new_agent'],
      ),
      refused(
        'no kind, with two identities',
        { addWork: [work('x', { agentId: 'writer', subagentId: 'reviewer' })] },
        ['names 2 targets (agentId, subagentId); set targetKind, or give one of'],
      ),
      refused('no kind, with args', { addWork: [work('x', { args: { of: 'gather' } })] }, [
        'args are for a code graph: set targetKind code_graph and graphName',
      ]),
      refused(
        'replacementMode replace, with nothing',
        { addWork: [work('x', { replacementMode: 'replace' })] },
        ['replacementMode replace needs replaces'],
      ),
    ],
  },
  {
    name: 'fields that exclude one another',
    source: 'apache/maka update refinements: what one call cannot mean at once',
    cases: [
      refused('a finish with works', { addWork: [work('x')], finish }, [
        'finish excludes addWork and retry: let the work end, and finish then',
      ]),
      refused('a finish with retries', { retry: [{ workId: 'broken', reason: 'r' }], finish }, [
        'finish excludes addWork and retry',
      ]),
      refused(
        'a finish while works run',
        { finish },
        ['works are not over: running, later; wait for them or stop them'],
        { code: 'work-conflict' },
      ),
      refused('a draft of stops', { draft: 'open', stop: stopRunning }, ['draft open needs addWork']),
      refused(
        'a draft of a graph that runs',
        { draft: 'open', addWork: [work('x')] },
        ['runs already and cannot become a draft'],
        { code: 'draft-conflict' },
      ),
      refused('a commit of what is no draft', { draft: 'commit' }, ['is no draft: its works run already'], {
        code: 'draft-conflict',
      }),
      refused(
        'since and a cursor',
        { since: 3, cursor: 'work:1:00000000' },
        ['since and cursor exclude one another: leave one out'],
        { tool: 'view' },
      ),
      refused(
        'results and since',
        { since: 3, results: ['gather'] },
        ['results is a question of its own: leave since and cursor out'],
        { tool: 'view' },
      ),
      refused(
        'results and a cursor',
        { cursor: 'work:1:00000000', results: ['gather'] },
        ['results is a question of its own'],
        { tool: 'view' },
      ),
      refused(
        'forEach over what is no input',
        { addWork: [work('x', { inputIds: ['gather'], forEach: 'running' })] },
        ['addWork[0].forEach must be one of its inputIds: gather'],
      ),
      refused('forEach without inputs', { addWork: [work('x', { forEach: 'gather' })] }, [
        'addWork[0].forEach must be one of its inputIds',
      ]),
      refused(
        'a retry of what is completed',
        { retry: [{ workId: 'gather', reason: 'r' }] },
        ['cannot retry gather, which is completed'],
        { code: 'work-conflict' },
      ),
      refused(
        'a work that waits for what it replaces',
        { addWork: [work('x', { replaces: 'running', inputIds: ['running'] })] },
        ['waits for the result of running, which it replaces'],
        { code: 'work-conflict' },
      ),
    ],
  },
  {
    name: 'a name that is not offered',
    source: 'apache/maka #1593, #4267: agent ids that are not in the catalog were accepted and stuck',
    cases: [
      refused('an agent', { addWork: [work('x', { agentId: 'coder' })] }, [
        'addWork[0]: unknown agentId "coder"; available: default, writer',
      ]),
      refused('an agent in another case', { addWork: [work('x', { agentId: 'Writer' })] }, [
        'unknown agentId "Writer"; available: default, writer',
      ]),
      refused('a preset', { addWork: [work('x', { subagentId: 'critic' })] }, [
        'unknown subagentId "critic"; available: reviewer',
      ]),
      refused('an agent as a preset', { addWork: [work('x', { subagentId: 'writer' })] }, [
        'unknown subagentId "writer"; available: reviewer',
      ]),
      refused('a preset as an agent', { addWork: [work('x', { agentId: 'reviewer' })] }, [
        'unknown agentId "reviewer"; available: default, writer',
      ]),
      refused('a code graph', { addWork: [work('x', { graphName: 'summary' })] }, [
        'unknown graphName "summary"; available: digest',
      ]),
      refused('a model', { addWork: [work('x', { model: 'm2' })] }, ['unknown model "m2"; available: m1']),
      refused('an effort', { addWork: [work('x', { model: 'm1', effort: 'extreme' })] }, [
        'unknown effort "extreme" of model m1; available: low, high',
      ]),
      refused('an effort of no model', { addWork: [work('x', { effort: 'extreme' })] }, [
        'unknown effort "extreme"; available: low, high',
      ]),
      refused(
        'arguments of a code graph',
        { addWork: [work('x', { graphName: 'digest', args: { off: 1 } })] },
        ['addWork[0].args: of is missing'],
      ),
      refused(
        'two of them at once',
        { addWork: [work('x', { agentId: 'coder' }), work('y', { model: 'm2' })] },
        ['addWork[0]: unknown agentId "coder"', 'addWork[1]: unknown model "m2"'],
      ),
      refused('an agent of a very long name', { addWork: [work('x', { agentId: 'a'.repeat(250) })] }, [
        'available: default, writer',
      ]),
    ],
  },
]
