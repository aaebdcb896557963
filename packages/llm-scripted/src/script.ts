/** Makes a checked script of YAML or of an object, or says everything that is wrong with it. */
import { invalidScript, ScriptedLlmError } from './errors.ts'
import { Fields } from './fields.ts'
import { readPatterns } from './patterns.ts'
import { plainCopy, type Plain } from './plain.ts'
import { Problems, quote, type Path } from './problems.ts'
import { readStep } from './step-reader.ts'
import { checkNames, checkReach } from './track-checks.ts'
import type { Match, Script, ScriptSource, Step, Track } from './types.ts'
import { readYaml } from './yaml-text.ts'

const parsed = new WeakSet<object>()

/**
 * Checks and compiles a script. What comes out is frozen and shares nothing with what went in.
 *
 * @param source YAML text, or an object of the same shape. A script that was parsed before is returned
 *   as it is. Anything else than a script is refused, whatever it is.
 * @param options.origin where it comes from (a file name), for the text of the error.
 * @throws ScriptedLlmError `invalid-script`, with every problem, its path, and for YAML its line.
 */
export function parseScript(
  source: string | ScriptSource | Script,
  options: { readonly origin?: string } = {},
): Script {
  if (isScript(source)) return source
  const { value, lineOf } =
    typeof source === 'string'
      ? readYaml(source, options.origin)
      : { value: source as unknown, lineOf: undefined }
  const problems = new Problems(lineOf)
  const tracks = readTracks(detach(value, problems, options.origin), problems)
  if (problems.list.length > 0) throw invalidScript(problems.list, options.origin)
  const script = deepFreeze({ tracks }) as unknown as Script
  parsed.add(script)
  return script
}

function isScript(source: unknown): source is Script {
  return typeof source === 'object' && source !== null && parsed.has(source)
}

function detach(value: unknown, problems: Problems, origin: string | undefined): Plain {
  try {
    return plainCopy(value, problems)
  } catch (cause) {
    if (cause instanceof ScriptedLlmError) throw cause
    throw invalidScript([{ path: '', message: 'cannot be read: an object of it throws' }], origin, cause)
  }
}

function readTracks(root: Plain, problems: Problems): Track[] {
  const fields = Fields.of(root, [], ['tracks'], problems)
  if (fields === undefined || fields.required('tracks') === undefined) return []
  const tracks = fields
    .list('tracks')
    .flatMap((item, index) => readTrack(item, ['tracks', index], problems) ?? [])
  const names = new Set<string>()
  for (const [index, { name }] of tracks.entries()) {
    if (name !== '' && names.has(name)) {
      problems.add(['tracks', index, 'name'], `another track is called ${quote(name)} already`)
    }
    names.add(name)
  }
  return tracks
}

function readTrack(value: Plain, path: Path, problems: Problems): Track | undefined {
  const known = ['name', 'match', 'stateless', 'maxConversations', 'steps']
  const fields = Fields.of(value, path, known, problems)
  if (fields === undefined) return undefined
  const matchSource = fields.required('match')
  const track: Track = {
    name: fields.requiredText('name') ?? '',
    match: readMatch(matchSource ?? {}, fields.at('match'), problems),
    stateless: fields.flag('stateless'),
    maxConversations: fields.integer('maxConversations', 1, Number.MAX_SAFE_INTEGER, Infinity),
    steps: readSteps(fields, problems),
  }
  checkReach(track, fields.at('steps'), problems)
  checkNames(track, fields.at('steps'), problems)
  return track
}

function readSteps(fields: Fields, problems: Problems): Step[] {
  if (fields.required('steps') === undefined) return []
  const items = fields.list('steps')
  if (Array.isArray(fields.get('steps')) && items.length === 0) {
    fields.report('steps', 'is empty; a track needs a step')
  }
  return items.map((item, index) => readStep(item, [...fields.at('steps'), index], problems))
}

function readMatch(value: Plain, path: Path, problems: Problems): Match {
  const fields = Fields.of(value, path, ['system', 'firstUser', 'tools', 'purpose'], problems)
  const patterns = (key: string) => readPatterns(fields?.get(key), [...path, key], problems)
  return {
    system: patterns('system'),
    firstUser: patterns('firstUser'),
    tools: patterns('tools'),
    purpose: fields?.choice('purpose', ['compaction', 'session-title']),
  }
}

/** Patterns stay as they are: a frozen regular expression could not be searched for. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return value
  for (const inner of Object.values(value)) deepFreeze(inner as unknown)
  return Object.freeze(value)
}
