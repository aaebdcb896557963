/**
 * Puts plain objects in the place of LangChain's message instances, which no JSON can carry and which
 * most graphs end with. Messages are told by shape, of whatever copy they are. What is not a message
 * stays as it is, so that any other fault of the state is still found afterwards.
 */
import { setOwn } from './copy-json.ts'
import { arrayProblem, hiddenKeyProblem, objectProblem } from './json-containers.ts'

/** Roles as chat providers call them, by LangChain's type of the message. */
const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant' }

interface Message {
  readonly content: unknown
  readonly name?: unknown
  readonly role?: unknown
  readonly tool_calls?: unknown
  readonly tool_call_id?: unknown
  readonly status?: unknown
}

/** LangChain's type of a message; `undefined` for anything else. */
function messageType(value: object): string | undefined {
  const method: unknown = Reflect.get(value, 'getType') ?? Reflect.get(value, '_getType')
  const namespace: unknown = Reflect.get(value, 'lc_namespace')
  if (typeof method !== 'function' || !Array.isArray(namespace) || !namespace.includes('messages'))
    return undefined
  const type: unknown = method.call(value)
  return typeof type === 'string' ? type : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function plainCall(call: unknown): unknown {
  if (typeof call !== 'object' || call === null) return call
  const { id, name, args } = call as Record<string, unknown>
  return { ...(isText(id) ? { id } : {}), name, args }
}

function plainMessage(message: Message, type: string): object {
  const { content, name, role, tool_calls: calls, tool_call_id: answers, status } = message
  return {
    role: isText(role) ? role : (ROLES[type] ?? type),
    content,
    ...(isText(name) ? { name } : {}),
    ...(Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls.map(plainCall) } : {}),
    ...(isText(answers) ? { tool_call_id: answers } : {}),
    ...(status === 'error' ? { status } : {}),
  }
}

/** Whether a copy of the container would have all that it has. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return arrayProblem(value) === undefined
  return (
    objectProblem(value) === undefined && hiddenKeyProblem(value, Object.keys(value).length) === undefined
  )
}

class MessageCopier {
  found = false
  /** Copies by their originals, so that shared references and cycles stay what they are. */
  private readonly copies = new Map<object, object>()
  private readonly open: { readonly source: object; readonly target: object }[] = []

  copy(root: unknown): unknown {
    const result = this.copyOf(root)
    for (let next = this.open.pop(); next !== undefined; next = this.open.pop())
      this.fill(next.source, next.target)
    return result
  }

  private copyOf(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    const known = this.copies.get(value)
    if (known !== undefined) return known
    const type = messageType(value)
    if (type !== undefined) this.found = true
    else if (!isPlain(value)) return value
    const source = type === undefined ? value : plainMessage(value as Message, type)
    const target = Array.isArray(source) ? [] : {}
    this.copies.set(value, target)
    this.open.push({ source, target })
    return target
  }

  private fill(source: object, target: object): void {
    if (Array.isArray(source)) {
      const items = target as unknown[]
      items.length = source.length
      source.forEach((item: unknown, index) => (items[index] = this.copyOf(item)))
      return
    }
    for (const key of Object.keys(source)) setOwn(target, key, this.copyOf(Reflect.get(source, key)))
  }
}

/**
 * A copy of the value with plain objects for its messages: `{ role, content }`, and `name`,
 * `tool_calls`, `tool_call_id` and `status: 'error'` where a message has them.
 *
 * @returns `undefined` when there are no messages in it, or it cannot be read.
 */
export function plainMessages(value: unknown): { readonly value: unknown } | undefined {
  const copier = new MessageCopier()
  try {
    const copy = copier.copy(value)
    return copier.found ? { value: copy } : undefined
  } catch {
    return undefined
  }
}
