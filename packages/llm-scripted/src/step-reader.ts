/** Reads one step of a track. What several steps mean together is checked elsewhere. */
import { readCaptures } from './capture-reader.ts'
import { Fields } from './fields.ts'
import { readPatterns } from './patterns.ts'
import { isRecord, type Plain, type PlainList } from './plain.ts'
import type { Path, Problems } from './problems.ts'
import { readTemplate, type JsonTemplate, type Template } from './templates.ts'
import type { Fault, Step, ToolCallTemplate, When } from './types.ts'

/** The longest wait that a timer can do. */
const MAX_DELAY_MS = 2_147_483_647

const STEP_KEYS = [
  'name',
  'when',
  'repeat',
  'optional',
  'capture',
  'text',
  'reasoning',
  'toolCalls',
  'delayMs',
  'chunkChars',
  'fault',
]

const EMPTY_STEP: Step = {
  name: undefined,
  when: undefined,
  repeat: false,
  optional: false,
  captures: [],
  text: undefined,
  reasoning: undefined,
  toolCalls: [],
  delayMs: 0,
  chunkChars: Infinity,
  fault: undefined,
}

export function readStep(value: Plain, path: Path, problems: Problems): Step {
  const fields = Fields.of(value, path, STEP_KEYS, problems)
  if (fields === undefined) return EMPTY_STEP
  checkAnswer(fields, problems)
  return {
    name: fields.text('name'),
    when: readWhen(fields, problems),
    repeat: fields.flag('repeat'),
    optional: fields.flag('optional'),
    captures: readCaptures(fields.get('capture'), fields.at('capture'), problems),
    text: readText(fields, 'text', problems),
    reasoning: readText(fields, 'reasoning', problems),
    toolCalls: fields
      .list('toolCalls')
      .flatMap((item, index) => readToolCall(item, [...fields.at('toolCalls'), index], problems) ?? []),
    delayMs: fields.integer('delayMs', 0, MAX_DELAY_MS, 0),
    chunkChars: fields.integer('chunkChars', 1, Number.MAX_SAFE_INTEGER, Infinity),
    fault: readFault(fields, problems),
  }
}

/** A step says something, and nothing that is never sent. */
function checkAnswer(fields: Fields, problems: Problems): void {
  const answer = ['text', 'reasoning', 'toolCalls'].filter((key) => fields.has(key))
  const toolCalls = fields.get('toolCalls')
  if (Array.isArray(toolCalls) && toolCalls.length === 0) {
    fields.report('toolCalls', 'is empty; name a call, or leave it out')
  }
  if (!fields.has('fault')) {
    if (answer.length === 0) {
      problems.add(fields.path, 'answers nothing; give text, reasoning, toolCalls or fault')
    }
    return
  }
  const fault = fields.get('fault')
  if (!isRecord(fault)) return
  if (fault['hang'] !== undefined) {
    for (const key of answer) fields.report(key, 'is never sent by a step that hangs; leave it out')
  } else if (fault['after'] === undefined) {
    for (const key of answer) fields.report(key, 'is never sent before this fault; give fault.after')
  } else if (answer.length === 0) {
    problems.add([...fields.at('fault'), 'after'], 'counts chunks of an answer that the step does not give')
  }
}

function readWhen(fields: Fields, problems: Problems): When | undefined {
  const source = fields.get('when')
  if (source === undefined) return undefined
  const path = fields.at('when')
  const when = Fields.of(source, path, ['lastUser', 'lastToolResult', 'conversation'], problems)
  if (when === undefined) return undefined
  if (when.isEmpty) fields.report('when', 'is empty and holds always; leave it out')
  const result = when.get('lastToolResult')
  const resultPath = when.at('lastToolResult')
  if (result !== undefined) Fields.of(result, resultPath, ['name', 'text'], problems)
  const part = (key: string) =>
    readPatterns(isRecord(result) ? result[key] : undefined, [...resultPath, key], problems)
  return {
    lastUser: readPatterns(when.get('lastUser'), when.at('lastUser'), problems),
    lastToolResult: result === undefined ? undefined : { name: part('name'), text: part('text') },
    conversation: readPatterns(when.get('conversation'), when.at('conversation'), problems),
  }
}

function readText(fields: Fields, key: string, problems: Problems): Template | undefined {
  const source = fields.text(key)
  return source === undefined ? undefined : checkedTemplate(source, fields.at(key), problems)
}

function readToolCall(value: Plain, path: Path, problems: Problems): ToolCallTemplate | undefined {
  const fields = Fields.of(value, path, ['name', 'arguments'], problems)
  if (fields === undefined) return undefined
  const args = fields.has('arguments') ? (fields.get('arguments') as Plain) : {}
  return {
    name: fields.requiredText('name') ?? '',
    arguments: readJson(args, fields.at('arguments'), problems),
  }
}

function readJson(value: Plain, path: Path, problems: Problems): JsonTemplate {
  if (typeof value === 'string') return { kind: 'text', template: checkedTemplate(value, path, problems) }
  if (Array.isArray(value)) {
    const items = (value as PlainList).map((item, index) => readJson(item, [...path, index], problems))
    return { kind: 'list', items }
  }
  if (isRecord(value)) {
    const entries = Object.entries(value).map(
      ([key, item]) => [key, readJson(item, [...path, key], problems)] as const,
    )
    return { kind: 'record', entries }
  }
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) {
    return { kind: 'constant', value }
  }
  problems.add(path, 'is a regular expression; arguments are JSON')
  return { kind: 'constant', value: null }
}

function checkedTemplate(source: string, path: Path, problems: Problems): Template {
  const { template, faults } = readTemplate(source)
  for (const fault of faults) problems.add(path, fault)
  return template
}

function readFault(step: Fields, problems: Problems): Fault | undefined {
  const source = step.get('fault')
  if (source === undefined) return undefined
  const hangs = isRecord(source) && source['hang'] !== undefined
  const known = hangs ? ['hang'] : ['code', 'message', 'kind', 'after']
  const fields = Fields.of(source, step.at('fault'), known, problems)
  if (fields === undefined) return undefined
  if (hangs) {
    if (fields.get('hang') !== true) fields.report('hang', 'can only be true; leave the fault out instead')
    return { kind: 'hang' }
  }
  return {
    kind: fields.choice('kind', ['error', 'aborted']) ?? 'error',
    code: fields.requiredText('code') ?? '',
    message: fields.requiredText('message') ?? '',
    after: fields.integer('after', 0, Number.MAX_SAFE_INTEGER, 0),
  }
}
