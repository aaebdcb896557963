/** What the strictest providers demand of a request, all of them together. */
import type { ContentBlock, GenerateOptions, Message } from '@deepseek-ai/dsh-llm'

const NAME = /^[A-Za-z0-9_-]{1,64}$/

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

function* toolFaults(request: GenerateOptions): Generator<string> {
  if ((request.tools ?? []).length === 0) yield 'no tool is offered'
  for (const { name, parameters } of request.tools ?? []) {
    if (!NAME.test(name)) yield `tool name ${name}`
    if (parameters['type'] !== 'object') yield `the schema of ${name} has no object at its root`
    if (!isObject(parameters['properties'])) yield `the schema of ${name} has no properties`
  }
}

function* blockFaults(block: ContentBlock): Generator<string> {
  if (block.type === 'text' && block.text.trim() === '') yield 'an assistant text is blank'
  if (block.type !== 'tool-call') return
  if (!NAME.test(block.name)) yield `called name ${JSON.stringify(block.name)}`
  if (!isObjectText(block.arguments)) yield `arguments ${JSON.stringify(block.arguments)}`
  if (String(block.id) === '') yield 'a call id is empty'
}

/** Calls and results: each call has one result before anything else is said. */
function* orderFaults(messages: readonly Message[]): Generator<string> {
  const seen = new Set<string>()
  const open = new Set<string>()
  for (const { role, content } of messages) {
    const results = content.filter((block) => block.type === 'tool-result')
    for (const { toolCallId } of results) {
      if (!open.delete(String(toolCallId))) yield `result ${toolCallId} without an open call`
    }
    if (results.length > 0 && results.length < content.length) yield 'a result beside other content'
    if (results.length === 0 && open.size > 0) yield `a ${role} message before all results`
    for (const block of content) {
      if (block.type !== 'tool-call') continue
      if (seen.has(String(block.id))) yield `call id ${block.id} twice`
      seen.add(String(block.id))
      open.add(String(block.id))
    }
  }
  if (open.size > 0) yield `calls without a result: ${[...open].join(', ')}`
}

/** Why a provider may refuse the request; empty when none would. */
export function requestFaults(request: GenerateOptions): string[] {
  const choice = Object.keys(request).filter((key) => /choice/i.test(key))
  const said = request.messages.flatMap(({ role, content }) => (role === 'assistant' ? content : []))
  return [
    ...choice.map((key) => `it forces a choice: ${key}`),
    ...toolFaults(request),
    ...orderFaults(request.messages),
    ...said.flatMap((block) => [...blockFaults(block)]),
  ]
}
