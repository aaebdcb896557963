/**
 * The scripted model of the tests: what it says follows from what it is told, so that a test writes
 * its scenario into the instructions. It keeps every request that reached the wire.
 */
import {
  ReasoningEffortId,
  type GenerateOptions,
  type LlmResolvedModelInfo,
  type StreamChunk,
} from '@deepseek-ai/dsh-llm'
import { ScriptedLlm, type ScriptSource, type StepSource } from 'dsh-llm-scripted'

/** Instructions that every session understands. */
const COMMON: readonly StepSource[] = [
  { when: { lastToolResult: { name: 'gate', text: 'through' } }, text: 'passed the gate' },
  {
    when: { lastUser: 'stand at gate ' },
    capture: { gate: { from: 'lastUser', pattern: 'stand at gate ([a-z0-9]+)' } },
    toolCalls: [{ name: 'gate', arguments: { name: '${gate}' } }],
  },
  { when: { lastToolResult: { name: 'risky', text: '^done' } }, text: 'did the risky thing' },
  { when: { lastToolResult: { name: 'scribble', text: '^wrote' } }, text: 'wrote it down' },
  { when: { lastUser: 'scribble' }, toolCalls: [{ name: 'scribble', arguments: {} }] },
  { when: { lastUser: 'use riskier' }, toolCalls: [{ name: 'riskier', arguments: {} }] },
  { when: { lastUser: 'use risky' }, toolCalls: [{ name: 'risky', arguments: {} }] },
  { when: { lastToolResult: { name: 'nosuch' } }, toolCalls: [{ name: 'nosuch', arguments: {} }] },
  { when: { lastUser: 'use nosuch' }, toolCalls: [{ name: 'nosuch', arguments: {} }] },
  { when: { lastUser: 'break down' }, fault: { code: 'QUOTA', message: 'no money left' } },
  { when: { lastUser: 'never answer' }, fault: { hang: true } },
  { when: { lastUser: 'recall the word' }, ...recall() },
]

function recall(): StepSource {
  return {
    capture: { word: { from: 'conversation', pattern: 'the word is ([a-z]+)' } },
    text: 'I recall ${word}',
  }
}

/** A root is told by its graph tools; it plans and yields when a person asks for it. */
const SCRIPT: ScriptSource = {
  tracks: [
    {
      name: 'root',
      match: { tools: 'yield_agent_graph' },
      stateless: true,
      steps: [
        {
          when: { lastToolResult: { name: 'update_agent_graph', text: ' finished, revision' } },
          text: 'the graph is finished',
        },
        {
          when: { lastToolResult: { name: 'update_agent_graph' } },
          toolCalls: [{ name: 'yield_agent_graph' }],
        },
        { when: { lastToolResult: { name: 'view_agent_graph' } }, text: 'looked at the graph' },
        {
          when: { lastUser: 'plan work that stands at gate ' },
          capture: { gate: { from: 'lastUser', pattern: 'stands at gate ([a-z0-9]+)' } },
          toolCalls: [
            {
              name: 'update_agent_graph',
              arguments: { addWork: [{ workId: '${gate}', instruction: 'stand at gate ${gate}' }] },
            },
          ],
        },
        { when: { lastUser: 'look at the graph' }, toolCalls: [{ name: 'view_agent_graph' }] },
        {
          name: 'take a while over the end of a slow work',
          when: { lastUser: 'Agent graph [\\s\\S]*\\n- slow' },
          toolCalls: [{ name: 'gate', arguments: { name: 'wake' } }],
        },
        {
          name: 'ask its person over the end of a risk',
          when: { lastUser: 'Agent graph [\\s\\S]*\\n- risk' },
          toolCalls: [{ name: 'risky', arguments: {} }],
        },
        { when: { lastUser: 'Agent graph ' }, text: 'noted the wake' },
        ...COMMON,
        { text: 'hello' },
      ],
    },
    {
      name: 'operator',
      match: {},
      stateless: true,
      steps: [
        ...COMMON,
        {
          capture: { words: { from: 'lastUser', pattern: '^([^\\n]*)' } },
          text: 'result of "${words}"',
        },
      ],
    },
  ],
}

export class RecordingModel extends ScriptedLlm {
  readonly requests: GenerateOptions[] = []

  constructor() {
    super(SCRIPT)
  }

  /** The routes of `thinker` models have efforts; the others have none. */
  override resolveModel(provider: string, model: string): Promise<LlmResolvedModelInfo> {
    const efforts = ['low', 'high'].map((id) => ({ id: ReasoningEffortId(id), name: id }))
    const reasoning = model.startsWith('thinker') ? { reasoning: { efforts } } : {}
    return Promise.resolve({ provider, id: model, name: model, ...reasoning })
  }

  override async *stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    this.requests.push(options)
    yield* super.stream(options)
  }

  /** The requests of one session, in order. */
  of(sessionId: string): readonly GenerateOptions[] {
    return this.requests.filter((request) => String(request.sessionId) === sessionId)
  }
}
