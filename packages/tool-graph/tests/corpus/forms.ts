/** The right words in a wrong form: JSON in strings, other cases, one item for a list, other types, other names. */
import { refused, REVIEWER, understood, work, WRITER, type CorpusClass } from './case.ts'

export const FORMS: readonly CorpusClass[] = [
  {
    name: 'JSON inside of a string',
    source: 'dsh-tools argument repair: models write nested arguments as text',
    cases: [
      understood('all arguments', JSON.stringify({ addWork: [work('x')] }), {
        works: { x: {} },
        adjusted: ['the arguments were read from a JSON string'],
      }),
      understood(
        'a list',
        { addWork: JSON.stringify([work('x')]) },
        { works: { x: {} }, adjusted: ['addWork was read from a JSON string'] },
      ),
      understood(
        'an item',
        { addWork: [JSON.stringify(work('x'))] },
        { works: { x: {} }, adjusted: ['addWork[0] was read from a JSON string'] },
      ),
      understood(
        'inputs',
        { addWork: [work('x', { inputIds: '["gather"]' })] },
        {
          works: { x: { inputIds: ['gather'] } },
          adjusted: ['addWork[0].inputIds was read from a JSON string'],
        },
      ),
      understood(
        'a stop',
        { stop: '[{"targetId":"running","reason":"r"}]' },
        { works: { running: { status: 'stopped' } }, adjusted: ['stop was read from a JSON string'] },
      ),
      understood(
        'args of a code graph',
        { addWork: [work('x', { graphName: 'digest', args: '{"of":"gather"}' })] },
        {
          works: { x: { args: { of: 'gather' } } },
          adjusted: ['addWork[0].args was read from a JSON string'],
        },
      ),
      understood(
        'in a code fence',
        { addWork: `\`\`\`json\n${JSON.stringify([work('x')])}\n\`\`\`` },
        { works: { x: {} }, adjusted: ['addWork was read from a JSON string'] },
      ),
      understood(
        'twice nested',
        { addWork: JSON.stringify([JSON.stringify(work('x', { inputIds: '["gather"]' }))]) },
        { works: { x: { inputIds: ['gather'] } }, adjusted: ['addWork[0] was read'] },
      ),
      understood(
        'results of a view',
        { results: '["gather"]' },
        { value: { results: [{ text: 'gathered' }] }, adjusted: ['results was read from a JSON string'] },
        'view',
      ),
      understood(
        'an empty list in it',
        { addWork: [work('x')], stop: '[]' },
        { works: { x: {} }, adjusted: ['stop'] },
      ),
      refused('torn off', { addWork: '[{"workId":"x","instruction":"do' }, [
        'addWork[0] must be an object with workId',
      ]),
      refused('the wrong thing in it', { addWork: '"x"' }, ['addWork[0] must be an object with workId']),
    ],
  },
  {
    name: 'snake_case, kebab-case and other cases of a field',
    source: 'maka uses snake_case, this project camelCase; models mix both',
    cases: [
      understood(
        'add_work',
        { add_work: [work('x')] },
        { works: { x: {} }, adjusted: ['add_work was read as addWork'] },
      ),
      understood(
        'work_id',
        { addWork: [{ work_id: 'x', instruction: 'do' }] },
        { works: { x: {} }, adjusted: ['addWork[0].work_id was read as workId'] },
      ),
      understood(
        'input_ids',
        { addWork: [work('x', { input_ids: ['gather'] })] },
        { works: { x: { inputIds: ['gather'] } }, adjusted: ['input_ids was read as inputIds'] },
      ),
      understood(
        'target_kind and subagent_id',
        { addWork: [work('x', { target_kind: 'new_preset', subagent_id: 'reviewer' })] },
        {
          works: { x: { target: REVIEWER } },
          adjusted: ['target_kind was read as targetKind', 'subagent_id was read as subagentId'],
        },
      ),
      understood(
        'target_id and cascade_downstream',
        { stop: [{ target_id: 'running', reason: 'r', cascade_downstream: true }] },
        {
          works: { running: { status: 'stopped' }, later: { status: 'stopped' } },
          adjusted: ['target_id was read as targetId', 'cascade_downstream was read as cascadeDownstream'],
        },
      ),
      understood(
        'selected_result_inputs',
        ({ earlier, earlierRecord }) => ({
          addWork: [
            work('x', { selected_result_inputs: [{ source_graph_id: earlier, result_id: earlierRecord }] }),
          ],
        }),
        {
          works: { x: { selectedResultInputs: [{}] } },
          adjusted: ['source_graph_id was read as sourceGraphId'],
        },
      ),
      understood(
        'idempotency_key',
        { addWork: [work('x')], idempotency_key: 'k' },
        { works: { x: {} }, adjusted: ['idempotency_key was read as idempotencyKey'] },
      ),
      understood(
        'AddWork and WorkID',
        { AddWork: [{ WorkID: 'x', Instruction: 'do' }] },
        { works: { x: {} }, adjusted: ['AddWork was read as addWork', 'WorkID was read as workId'] },
      ),
      understood(
        'for-each',
        { addWork: [work('x', { inputIds: ['gather'], 'for-each': 'gather' })] },
        { works: { x: { forEach: 'gather' } }, adjusted: ['for-each was read as forEach'] },
      ),
      understood(
        'both spellings, one of them empty',
        { add_work: null, addWork: [work('x')] },
        { works: { x: {} }, adjusted: ['addWork'] },
      ),
      understood(
        'both spellings with different values',
        { addWork: [work('x')], add_work: [work('y')] },
        { works: { x: {} }, absent: ['y'], adjusted: ['add_work was dropped: addWork is given too'] },
      ),
      understood(
        'graph_id of a view',
        ({ current }) => ({ graph_id: current }),
        { value: { known: true }, adjusted: ['graph_id was read as graphId'] },
        'view',
      ),
      understood(
        'result_ids of a finish',
        {
          stop: [{ targetId: 'running', reason: 'r', cascadeDownstream: true }],
          finish: { result_ids: ['gather'], reason: 'done' },
        },
        { value: { graph: { closed: true } }, adjusted: ['result_ids was read as resultIds'] },
      ),
    ],
  },
  {
    name: 'one item in place of a list, or a list in place of one',
    source: 'common with small models: a list of one is written as its item',
    cases: [
      understood(
        'a work',
        { addWork: work('x') },
        { works: { x: {} }, adjusted: ['addWork was read as a list of one'] },
      ),
      understood(
        'a stop',
        { stop: { targetId: 'running', reason: 'r' } },
        { works: { running: { status: 'stopped' } }, adjusted: ['stop was read as a list of one'] },
      ),
      understood(
        'a retry',
        { retry: { workId: 'broken', reason: 'again' } },
        { works: { broken: { retries: 1 } }, adjusted: ['retry was read as a list of one'] },
      ),
      understood(
        'an input',
        { addWork: [work('x', { inputIds: 'gather' })] },
        {
          works: { x: { inputIds: ['gather'] } },
          adjusted: ['addWork[0].inputIds was read as a list of one'],
        },
      ),
      understood(
        'inputs with commas',
        { addWork: [work('x', { inputIds: 'gather, running' })] },
        { works: { x: { inputIds: ['gather', 'running'] } }, adjusted: ['split at its commas'] },
      ),
      understood(
        'a result of a view',
        { results: 'gather' },
        { value: { results: [{ text: 'gathered' }] }, adjusted: ['results was read as a list of one'] },
        'view',
      ),
      understood(
        'a selected result',
        ({ earlier, earlierRecord }) => ({
          addWork: [work('x', { selectedResultInputs: { sourceGraphId: earlier, resultId: earlierRecord } })],
        }),
        {
          works: { x: { selectedResultInputs: [{}] } },
          adjusted: ['selectedResultInputs was read as a list of one'],
        },
      ),
      understood(
        'a finish in a list',
        { stop: [{ targetId: 'graph', reason: 'r' }], finish: [{ resultIds: 'gather', reason: 'done' }] },
        {
          value: { graph: { closed: true } },
          adjusted: ['finish was read as one object', 'finish.resultIds was read as a list of one'],
        },
      ),
      understood(
        'an id in a list',
        { addWork: [{ workId: ['x'], instruction: 'do' }] },
        { works: { x: {} }, adjusted: ['addWork[0].workId was read as one text'] },
      ),
      understood(
        'inputs as objects',
        { addWork: [work('x', { inputIds: [{ workId: 'gather' }] })] },
        {
          works: { x: { inputIds: ['gather'] } },
          adjusted: ['addWork[0].inputIds[0] was read as its only field'],
        },
      ),
      refused('a stop as an id', { stop: 'running' }, ['stop[0] must be an object with targetId, reason']),
      refused('a finish as a text', { finish: 'done' }, ['finish must be an object with resultIds, reason']),
      refused('works as a map of ids', { addWork: { x: work('x'), y: work('y') } }, [
        'missing required property "addWork[0].instruction"',
      ]),
    ],
  },
  {
    name: 'another type',
    source: 'dsh-tools argument validation: numbers and booleans as text and the other way round',
    cases: [
      understood(
        'a number as an id',
        { addWork: [{ workId: 7, instruction: 'do' }] },
        { works: { 7: {} }, adjusted: ['addWork[0].workId was read as a text'] },
      ),
      understood(
        'a number as an input',
        { addWork: [{ workId: 7, instruction: 'do' }, work('x', { inputIds: [7] })] },
        { works: { x: { inputIds: ['7'] } }, adjusted: ['addWork[1].inputIds[0] was read as a text'] },
      ),
      understood(
        'a flag as a text',
        { stop: [{ targetId: 'running', reason: 'r', cascadeDownstream: 'true' }] },
        { works: { later: { status: 'stopped' } }, adjusted: ['cascadeDownstream was read as true'] },
      ),
      understood(
        'a flag as yes',
        { stop: [{ targetId: 'running', reason: 'r', cascadeDownstream: 'No' }] },
        { works: { running: { status: 'stopped' } }, adjusted: ['cascadeDownstream was read as false'] },
      ),
      understood(
        'a flag as 1',
        { stop: [{ targetId: 'running', reason: 'r', cascadeDownstream: 1 }] },
        { works: { later: { status: 'stopped' } }, adjusted: ['cascadeDownstream was read as true'] },
      ),
      understood(
        'a seq as a text',
        { since: '1' },
        { value: { since: 1 }, adjusted: ['since was read as a number'] },
        'view',
      ),
      understood(
        'a number as a title',
        { addWork: [work('x', { title: 3 })] },
        { works: { x: { title: '3' } }, adjusted: ['addWork[0].title was read as a text'] },
      ),
      understood(
        'a key as a number',
        { addWork: [work('x')], idempotencyKey: 12 },
        { works: { x: {} }, adjusted: ['idempotencyKey was read as a text'] },
      ),
      refused('a seq as a word', { since: 'last' }, ['"since" must be an integer'], { tool: 'view' }),
      refused('a seq as a fraction', { since: 1.5 }, ['"since" must be an integer'], { tool: 'view' }),
      refused(
        'an instruction as an object',
        { addWork: [{ workId: 'x', instruction: { text: 'do', of: 'x' } }] },
        ['"addWork[0].instruction" must be a string'],
      ),
      refused('works as a flag', { addWork: true }, ['addWork[0] must be an object with workId']),
      refused('args as a text', { addWork: [work('x', { graphName: 'digest', args: 'all' })] }, [
        'addWork[0].args must be an object',
      ]),
      refused(
        'a cascade as a word',
        { stop: [{ targetId: 'running', reason: 'r', cascadeDownstream: 'all' }] },
        ['"stop[0].cascadeDownstream" must be a boolean'],
      ),
    ],
  },
  {
    name: 'another word for a value',
    source: 'enumerated values in other spellings, as in the argument repair of dsh-tools',
    cases: [
      understood(
        'upper case',
        { addWork: [work('x', { inputIds: ['running'], when: 'ANY' })] },
        { works: { x: { when: 'any' } }, adjusted: ['"ANY" was read as any'] },
      ),
      understood(
        'camel case',
        { addWork: [work('x', { targetKind: 'newAgent', agentId: 'writer' })] },
        { works: { x: { target: WRITER } }, adjusted: ['"newAgent" was read as new_agent'] },
      ),
      understood(
        'a short kind',
        { addWork: [work('x', { targetKind: 'preset', subagentId: 'reviewer' })] },
        { works: { x: { target: REVIEWER } }, adjusted: ['"preset" was read as new_preset'] },
      ),
      understood(
        'spaces',
        { addWork: [work('x', { replay: ' safe ' })] },
        { works: { x: { replay: 'safe' } }, adjusted: ['spaces trimmed: addWork[0].replay'] },
      ),
      understood(
        'an operation in camel case',
        { operation: 'addWork', addWork: [work('x')] },
        { works: { x: {} }, adjusted: ['"addWork" was read as add_work'] },
      ),
      understood(
        'until in upper case',
        { until: 'ALL' },
        { value: { until: 'all' }, adjusted: ['"ALL" was read as all'] },
        'yield',
      ),
      understood(
        'a mode with a capital',
        { mode: 'Summary' },
        { value: { known: true }, adjusted: ['"Summary" was read as summary'] },
        'view',
      ),
      refused('an unknown when', { addWork: [work('x', { when: 'sometimes' })] }, [
        '"addWork[0].when" must be one of ["all","any","always"]',
      ]),
      refused('an unknown kind', { addWork: [work('x', { targetKind: 'robot' })] }, [
        'must be one of ["new_agent","new_preset","existing_operator","code_graph"]',
      ]),
      refused('an unknown operation', { operation: 'delete', stop: [{ targetId: 'running', reason: 'r' }] }, [
        'must be one of ["add_work","stop","retry","finish"]',
      ]),
      refused('an unknown replay', { addWork: [work('x', { replay: 'never' })] }, [
        'must be one of ["safe","confirm","model"]',
      ]),
      refused('an unknown draft', { addWork: [work('x')], draft: true }, [
        'must be one of ["open","commit"]',
      ]),
      refused('an unknown until', { until: 'tomorrow' }, ['must be one of ["any","all"]'], { tool: 'yield' }),
    ],
  },
  {
    name: 'another name for a field, or a wrapper around it all',
    source: 'fields of other orchestration tools: id, prompt, depends_on, arguments',
    cases: [
      understood(
        'arguments around',
        { arguments: { addWork: [work('x')] } },
        { works: { x: {} }, adjusted: ['the arguments were read out of arguments'] },
      ),
      understood(
        'input around, as a string',
        { input: JSON.stringify({ addWork: [work('x')] }) },
        { works: { x: {} }, adjusted: ['the arguments were read out of input'] },
      ),
      understood(
        'id and prompt',
        { addWork: [{ id: 'x', prompt: 'do' }] },
        {
          works: { x: { instruction: 'do' } },
          adjusted: ['addWork[0].id was read as workId', 'addWork[0].prompt was read as instruction'],
        },
      ),
      understood(
        'dependsOn',
        { addWork: [work('x', { dependsOn: ['gather'] })] },
        { works: { x: { inputIds: ['gather'] } }, adjusted: ['dependsOn was read as inputIds'] },
      ),
      understood(
        'works and task',
        { works: [{ workId: 'x', task: 'do' }] },
        {
          works: { x: { instruction: 'do' } },
          adjusted: ['works was read as addWork', 'task was read as instruction'],
        },
      ),
      understood(
        'agent',
        { addWork: [work('x', { agent: 'writer' })] },
        { works: { x: { target: WRITER } }, adjusted: ['agent was read as agentId'] },
      ),
      understood(
        'workId of a stop',
        { stop: [{ workId: 'running', reason: 'r' }] },
        { works: { running: { status: 'stopped' } }, adjusted: ['stop[0].workId was read as targetId'] },
      ),
      understood(
        'targetId of a retry',
        { retry: [{ targetId: 'broken', reason: 'again' }] },
        { works: { broken: { retries: 1 } }, adjusted: ['retry[0].targetId was read as workId'] },
      ),
      understood(
        'results of a finish',
        { stop: [{ targetId: 'graph', reason: 'r' }], finish: { results: ['gather'], reason: 'done' } },
        { value: { graph: { closed: true } }, adjusted: ['finish.results was read as resultIds'] },
      ),
      understood(
        'a field of a work that there is not',
        { addWork: [work('x', { priority: 'high' })] },
        { works: { x: {} }, adjusted: ['addWork[0].priority was dropped: there is no such field'] },
      ),
      refused(
        'a field of a stop that there is not',
        { stop: [{ targetId: 'running', reason: 'r', force: true }] },
        ['stop[0].force: no such field; there are targetId, reason, cascadeDownstream'],
      ),
      refused('a field of an update that there is not', { addWork: [work('x')], deadline: 'soon' }, [
        'deadline: no such field; there are graphId, operation, addWork',
      ]),
      refused(
        'a field of a view that there is not',
        { filter: 'running' },
        ['filter: no such field; there are graphId, mode'],
        { tool: 'view' },
      ),
      refused(
        'a field of a yield that there is not',
        { timeoutMs: 500 },
        ['timeoutMs: no such field; there are graphId, reason, until'],
        { tool: 'yield' },
      ),
    ],
  },
]
