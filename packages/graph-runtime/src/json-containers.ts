/**
 * Which arrays and objects JSON keeps whole: plain ones, of any realm, that carry nothing besides
 * elements or enumerable string keys. Each check gives a phrase that follows "is", or `undefined`.
 */
import { hasExtras } from './array-extras.ts'

/** Why an array is none that JSON keeps. Holes are left to whoever reads the elements. */
export function arrayProblem(value: readonly unknown[]): string | undefined {
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype !== Array.prototype && !isIntrinsicArrayPrototype(prototype)) return instanceText(value)
  return hasExtras(value) ? `an array with ${hiddenKey(value)}` : undefined
}

/** Why an object is none that JSON keeps, by its prototype. */
export function objectProblem(value: object): string | undefined {
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return undefined
  return isIntrinsicObjectPrototype(prototype) ? undefined : instanceText(value)
}

/**
 * Why an object with this many enumerable string keys has keys that JSON drops. Two listings, since
 * `Reflect.ownKeys` costs several times both.
 */
export function hiddenKeyProblem(value: object, enumerable: number): string | undefined {
  if (Object.getOwnPropertyNames(value).length === enumerable) {
    if (Object.getOwnPropertySymbols(value).length === 0) return undefined
  }
  return `an object with ${hiddenKey(value)}`
}

/** The own key that JSON would drop. */
function hiddenKey(value: object): string {
  const array = Array.isArray(value)
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === 'symbol') return `the symbol key ${String(key)}`
    if (array && (key === 'length' || String(Number(key)) === key)) continue
    if (array) return `the extra property ${JSON.stringify(key)}`
    if (!Object.prototype.propertyIsEnumerable.call(value, key)) {
      return `the non-enumerable property ${JSON.stringify(key)}`
    }
  }
  return 'a property that JSON drops'
}

function instanceText(value: object): string {
  const constructor: unknown = Reflect.get(value, 'constructor')
  const name = typeof constructor === 'function' ? constructor.name : ''
  return name === '' ? 'an object with a prototype of its own' : `an instance of ${name}`
}

/** Whether the prototype is some realm's own `name.prototype`, told by its native constructor. */
function isIntrinsic(prototype: object, name: 'Array' | 'Object'): boolean {
  const constructor: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value
  if (typeof constructor !== 'function' || constructor.name !== name) return false
  if (constructor.prototype !== prototype) return false
  return Function.prototype.toString.call(constructor) === `function ${name}() { [native code] }`
}

function isIntrinsicObjectPrototype(prototype: object | null): boolean {
  return prototype !== null && Object.getPrototypeOf(prototype) === null && isIntrinsic(prototype, 'Object')
}

function isIntrinsicArrayPrototype(prototype: object | null): boolean {
  if (!Array.isArray(prototype) || !isIntrinsic(prototype, 'Array')) return false
  return isIntrinsicObjectPrototype(Object.getPrototypeOf(prototype))
}
